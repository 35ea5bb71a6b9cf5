interface Waiting {
  sinceMs: number;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Lets a few pieces of work run at once; the others wait in line. */
export class Turns {
  readonly #runningMax: number;
  #running = 0;
  #waiting: Waiting[] = [];

  constructor(runningMax: number) {
    this.#runningMax = runningMax;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#runningMax) this.#running += 1;
    else {
      await new Promise<void>((resolve, reject) => {
        this.#waiting.push({ sinceMs: performance.now(), resolve, reject });
      });
    }
    try {
      return await work();
    } finally {
      // A turn goes straight to the next in line; nobody can come in between.
      const next = this.#waiting.shift();
      if (next) next.resolve();
      else this.#running -= 1;
    }
  }

  /** Sends those away who have waited for at least so long: their turn would end like the one that failed. */
  sendAway(error: unknown, waitedMsMin: number): void {
    const nowMs = performance.now();
    const late = this.#waiting.filter(({ sinceMs }) => nowMs - sinceMs >= waitedMsMin);
    this.#waiting = this.#waiting.filter(({ sinceMs }) => nowMs - sinceMs < waitedMsMin);
    for (const { reject } of late) reject(error);
  }
}
