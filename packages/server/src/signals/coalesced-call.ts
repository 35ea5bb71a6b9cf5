/**
 * Shares one call among concurrent callers. Each caller gets the result of a call that began after it asked, so the
 * result is never older than the request for it.
 */
export class CoalescedCall<T> {
  readonly #work: () => Promise<T>;
  #running: Promise<unknown> = Promise.resolve();
  #next: Promise<T> | undefined;

  constructor(work: () => Promise<T>) {
    this.#work = work;
  }

  call(): Promise<T> {
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      const result = this.#work();
      this.#running = result.catch(() => undefined);
      return result;
    });
    return this.#next;
  }
}
