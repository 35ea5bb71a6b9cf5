const windowMs = 60_000;

export interface MinuteWindow {
  endsMs: number;
  count: number;
}

/** Counts by key in windows of one minute that start with the first count. Beyond `max` keys, forgets the oldest. */
export class MinuteWindows {
  readonly #max: number;
  readonly #now: () => number;
  readonly #windows = new Map<string, MinuteWindow>();

  constructor(max: number, now: () => number) {
    this.#max = max;
    this.#now = now;
  }

  /** Returns the window of a key with one more count. */
  count(key: string): MinuteWindow {
    const window = this.get(key) ?? this.#open(key);
    window.count += 1;
    return window;
  }

  /** Returns the window of a key. Undefined if there is none, or if it has ended. */
  get(key: string): MinuteWindow | undefined {
    const window = this.#windows.get(key);
    return window && window.endsMs > this.#now() ? window : undefined;
  }

  /** Returns the seconds until a window ends, at least one. */
  secondsLeft({ endsMs }: MinuteWindow): number {
    return Math.max(1, Math.ceil((endsMs - this.#now()) / 1000));
  }

  #open(key: string): MinuteWindow {
    const window = { endsMs: this.#now() + windowMs, count: 0 };
    // Deleted first: windows stay in the order in which they were opened.
    this.#windows.delete(key);
    this.#windows.set(key, window);
    if (this.#windows.size > this.#max) {
      const [oldest = ''] = this.#windows.keys();
      this.#windows.delete(oldest);
    }
    return window;
  }
}
