interface Waiting {
  owner: string;
  sinceMs: number;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Runs a few tasks at once while the others wait in order. One owner cannot have all of them. */
export class Semaphore {
  readonly #runningMax: number;
  readonly #eachMax: number;
  readonly #runningOf = new Map<string, number>();
  #running = 0;
  #waiting: Waiting[] = [];

  /** `eachMax`: how many tasks of the same owner may run at once. */
  constructor(runningMax: number, eachMax = runningMax) {
    this.#runningMax = runningMax;
    this.#eachMax = eachMax;
  }

  async run<T>(work: () => Promise<T>, owner = ''): Promise<T> {
    if (this.#mayStart(owner)) this.#count(owner, 1);
    else {
      await new Promise<void>((resolve, reject) => {
        this.#waiting.push({ owner, sinceMs: performance.now(), resolve, reject });
      });
    }
    try {
      return await work();
    } finally {
      this.#count(owner, -1);
      this.#startNext();
    }
  }

  #mayStart(owner: string): boolean {
    return this.#running < this.#runningMax && this.#runningFor(owner) < this.#eachMax;
  }

  #runningFor(owner: string): number {
    return this.#runningOf.get(owner) ?? 0;
  }

  #count(owner: string, change: 1 | -1): void {
    this.#running += change;
    const running = this.#runningFor(owner) + change;
    if (running > 0) this.#runningOf.set(owner, running);
    else this.#runningOf.delete(owner);
  }

  /** Passes a free slot directly to the next task, so that no other can take it. */
  #startNext(): void {
    const next = this.#waiting.find(({ owner }) => this.#mayStart(owner));
    if (!next) return;
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    this.#count(next.owner, 1);
    next.resolve();
  }

  /**
   * Rejects the tasks that have waited at least this long, of one owner or of all: they would fail like the one that
   * just did.
   */
  rejectWaiting(error: unknown, waitedMsMin: number, owner?: string): void {
    const nowMs = performance.now();
    const isLate = (each: Waiting) =>
      nowMs - each.sinceMs >= waitedMsMin && (owner === undefined || each.owner === owner);
    const late = this.#waiting.filter(isLate);
    this.#waiting = this.#waiting.filter((each) => !isLate(each));
    for (const { reject } of late) reject(error);
  }
}
