import { Timeline } from './timeline.js';

/** A clock that jumps from one timer to the next. */
export class VirtualClock {
  nowMs = 0;
  readonly #timers = new Timeline<() => void>();

  in(ms: number, work: () => void): void {
    this.at(this.nowMs + ms, work);
  }

  at(atMs: number, work: () => void): void {
    this.#timers.add(atMs, work);
  }

  /** Runs all timers, in order, until there are none left. */
  run(): void {
    for (;;) {
      this.nowMs = Math.max(this.nowMs, this.#timers.firstAtMs ?? 0);
      const work = this.#timers.take();
      if (!work) return;
      work();
    }
  }
}
