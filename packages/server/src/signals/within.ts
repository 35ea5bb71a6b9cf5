/** Resolves when the work is done, or after `ms` if that is sooner. */
export async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((waited) => {
    timer = setTimeout(waited, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
