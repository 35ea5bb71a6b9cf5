interface Owner {
  taken: number;
  waiting: Set<() => void>;
}

/**
 * Limits how many tasks are in progress at once. Further ones wait, and the owner with the fewest in progress is next.
 * Those with equally many take turns.
 */
export class FairSlots {
  readonly #max: number;
  /** Those with tasks in progress or waiting. The one that started a task last comes last. */
  readonly #owners = new Map<string, Owner>();
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Calls `start` as soon as there is a slot, with a function that gives it back. Returns a function that stops waiting
   * for one.
   */
  take(name: string, start: (release: () => void) => void): () => void {
    const owner = this.#owners.get(name) ?? { taken: 0, waiting: new Set() };
    this.#owners.set(name, owner);
    const begin = () => {
      owner.waiting.delete(begin);
      owner.taken += 1;
      this.#taken += 1;
      this.#owners.delete(name);
      this.#owners.set(name, owner);
      start(() => this.#release(name, owner));
    };
    if (this.#taken < this.#max) {
      begin();
      return () => undefined;
    }
    owner.waiting.add(begin);
    return () => {
      if (owner.waiting.delete(begin)) this.#forgetIfIdle(name, owner);
    };
  }

  /** Runs a task in a slot. Returns undefined, without running it, if the signal aborts while it waits for one. */
  async run<T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined> {
    const release = await new Promise<(() => void) | undefined>((resolve) => {
      if (signal.aborted) return resolve(undefined);
      const giveUp = () => {
        stopWaiting();
        resolve(undefined);
      };
      signal.addEventListener('abort', giveUp);
      const stopWaiting = this.take(name, (givenBack) => {
        signal.removeEventListener('abort', giveUp);
        resolve(givenBack);
      });
    });
    if (!release) return undefined;
    try {
      return await work();
    } finally {
      release();
    }
  }

  #release(name: string, owner: Owner): void {
    owner.taken -= 1;
    this.#taken -= 1;
    this.#forgetIfIdle(name, owner);
    this.#startNext();
  }

  #startNext(): void {
    let next: Owner | undefined;
    for (const owner of this.#owners.values()) {
      if (owner.waiting.size > 0 && owner.taken < (next?.taken ?? this.#max)) next = owner;
    }
    const [begin] = next?.waiting ?? [];
    begin?.();
  }

  #forgetIfIdle(name: string, owner: Owner): void {
    if (owner.taken === 0 && owner.waiting.size === 0) this.#owners.delete(name);
  }
}
