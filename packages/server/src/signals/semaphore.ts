interface Waiting {
  sinceMs: number;
  start: () => void;
  reject: (error: unknown) => void;
}

interface Owner {
  running: number;
  waiting: Set<Waiting>;
}

/**
 * Limits how many tasks run at once. Other tasks wait, and the owner with the fewest running tasks is next. Owners with
 * the same number take turns.
 */
export class Semaphore {
  readonly #max: number;
  readonly #eachMax: number;
  /** Owners with running or waiting tasks. The owner that started a task most recently comes last. */
  readonly #owners = new Map<string, Owner>();
  #running = 0;

  /** `eachMax`: how many tasks of the same owner may run at once. */
  constructor(max: number, eachMax = max) {
    this.#max = max;
    this.#eachMax = eachMax;
  }

  /** Runs a task as soon as it may start. */
  async run<T>(owner: string, work: () => Promise<T>): Promise<T> {
    const release = await new Promise<() => void>((resolve, reject) => {
      this.take(owner, resolve, reject);
    });
    return runIn(release, work);
  }

  /** Runs a task like `run`. Returns undefined, without running it, if the signal aborts while the task waits. */
  async runUnlessAborted<T>(
    owner: string,
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T | undefined> {
    const release = await new Promise<(() => void) | undefined>((resolve) => {
      if (signal.aborted) return resolve(undefined);
      const abort = () => {
        stopWaiting();
        resolve(undefined);
      };
      signal.addEventListener('abort', abort);
      const stopWaiting = this.take(owner, (taken) => {
        signal.removeEventListener('abort', abort);
        resolve(taken);
      });
    });
    return release && runIn(release, work);
  }

  /**
   * Calls `start` as soon as a task of this owner may run, with a function to call when the task has ended. Returns a
   * function that gives up waiting.
   */
  take(
    name: string,
    start: (release: () => void) => void,
    reject: (error: unknown) => void = () => undefined,
  ): () => void {
    const owner = this.#owners.get(name) ?? { running: 0, waiting: new Set() };
    this.#owners.set(name, owner);
    const task: Waiting = {
      sinceMs: performance.now(),
      reject,
      start: () => {
        owner.waiting.delete(task);
        owner.running += 1;
        this.#running += 1;
        this.#owners.delete(name);
        this.#owners.set(name, owner);
        start(() => this.#release(name, owner));
      },
    };
    if (this.#running < this.#max && owner.running < this.#eachMax) {
      task.start();
      return () => undefined;
    }
    owner.waiting.add(task);
    return () => this.#stopWaiting(name, owner, task);
  }

  /**
   * Rejects the tasks of one owner, or of all owners, that have waited at least this long. They would fail for the same
   * reason as the task that has just failed.
   */
  rejectWaiting(error: unknown, waitedMsMin: number, name?: string): void {
    const nowMs = performance.now();
    for (const [each, owner] of this.#owners) {
      if (name !== undefined && each !== name) continue;
      for (const task of owner.waiting) {
        if (nowMs - task.sinceMs < waitedMsMin) break;
        this.#stopWaiting(each, owner, task);
        task.reject(error);
      }
    }
  }

  #stopWaiting(name: string, owner: Owner, task: Waiting): void {
    if (owner.waiting.delete(task)) this.#forgetIfIdle(name, owner);
  }

  #release(name: string, owner: Owner): void {
    owner.running -= 1;
    this.#running -= 1;
    this.#forgetIfIdle(name, owner);
    this.#startNext();
  }

  #startNext(): void {
    let next: Owner | undefined;
    for (const owner of this.#owners.values()) {
      if (owner.waiting.size > 0 && owner.running < (next?.running ?? this.#eachMax)) next = owner;
    }
    const [task] = next?.waiting ?? [];
    task?.start();
  }

  #forgetIfIdle(name: string, owner: Owner): void {
    if (owner.running === 0 && owner.waiting.size === 0) this.#owners.delete(name);
  }
}

async function runIn<T>(release: () => void, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    release();
  }
}
