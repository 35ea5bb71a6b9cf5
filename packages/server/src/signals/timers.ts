import type { Logger } from 'pino';
import { levelFor } from './reported-error.js';

/** Repeats a task, one run at a time. A failure is logged, and the next run tries again. */
export class Repeating {
  readonly #work: () => Promise<unknown>;
  readonly #everyMs: number;
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;

  constructor(everyMs: number, work: () => Promise<unknown>, logger: Logger) {
    this.#everyMs = everyMs;
    this.#work = work;
    this.#logger = logger;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#turn().then(() => this.#schedule());
    }, this.#everyMs);
  }

  async #turn(): Promise<void> {
    try {
      await this.#work();
    } catch (error) {
      this.#logger[levelFor(error)](
        { reason: (error as Error).message },
        'a background task failed and will be retried',
      );
    }
  }

  /** Stops repeating. Resolves when the current run, if any, has ended. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }
}

/** Resolves when the work is done, or after `ms` if that is sooner. */
export async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((waited) => {
    timer = setTimeout(waited, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
