/** Rung when something happened in this process; whoever waits looks sooner than its next turn. */
export class Bell {
  readonly #waiting = new Set<() => void>();
  #rings = 0;

  /** How often it has rung; who notes it before looking can tell whether it rang meanwhile. */
  get rings(): number {
    return this.#rings;
  }

  ring(): void {
    this.#rings += 1;
    for (const wake of [...this.#waiting]) wake();
  }

  /** Resolves when rung since `heard`, when `ms` have passed, or when aborted, whichever is first. */
  wait(ms: number, signal: AbortSignal, heard: number): Promise<void> {
    if (signal.aborted || heard !== this.#rings) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake);
    });
  }
}
