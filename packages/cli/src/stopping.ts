const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs work until it ends or a process signal aborts it. */
export async function untilStopped(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const abort = () => stop.abort();
  for (const name of signals) process.once(name, abort);
  try {
    await work(stop.signal);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    for (const name of signals) process.removeListener(name, abort);
  }
}
