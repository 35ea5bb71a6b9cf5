interface Waiting {
  sinceMs: number;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Runs a few tasks at once while the others wait in order. */
export class Semaphore {
  readonly #runningMax: number;
  #running = 0;
  #waiting: Waiting[] = [];

  constructor(runningMax: number) {
    this.#runningMax = runningMax;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#runningMax) this.#running += 1;
    else {
      await new Promise<void>((resolve, reject) => {
        this.#waiting.push({ sinceMs: performance.now(), resolve, reject });
      });
    }
    try {
      return await work();
    } finally {
      // Pass the slot directly to the next task, so that no other can take it.
      const next = this.#waiting.shift();
      if (next) next.resolve();
      else this.#running -= 1;
    }
  }

  /** Rejects the tasks that have waited at least this long: they would fail like the one that just did. */
  rejectWaiting(error: unknown, waitedMsMin: number): void {
    const nowMs = performance.now();
    const late = this.#waiting.filter(({ sinceMs }) => nowMs - sinceMs >= waitedMsMin);
    this.#waiting = this.#waiting.filter(({ sinceMs }) => nowMs - sinceMs < waitedMsMin);
    for (const { reject } of late) reject(error);
  }
}
