/**
 * One call for all who ask at the same time. Each gets the answer of a call that began after it asked, so
 * what it learns is never older than its question.
 */
export class JoinedCall<T> {
  readonly #work: () => Promise<T>;
  #running: Promise<unknown> = Promise.resolve();
  #next: Promise<T> | undefined;

  constructor(work: () => Promise<T>) {
    this.#work = work;
  }

  call(): Promise<T> {
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      const answer = this.#work();
      this.#running = answer.catch(() => undefined);
      return answer;
    });
    return this.#next;
  }
}
