const windowMs = 60_000;

export interface MinuteWindow {
  endsMs: number;
  count: number;
}

/** What one process has counted for a key since it last shared its counts. */
export interface Count {
  /** The name of the windows. */
  name: string;
  key: string;
  endsMs: number;
  count: number;
}

/** Exchanges counts with the other processes on this machine, so that a limit holds for all of them together. */
export interface CountExchange {
  join: (name: string, receive: (count: Count) => void) => void;
  note: (name: string, key: string, endsMs: number) => void;
}

/** Counts by key in windows of one minute that start with the first count. Beyond `max` keys, forgets the oldest. */
export class MinuteWindows {
  readonly #max: number;
  readonly #now: () => number;
  readonly #windows = new Map<string, MinuteWindow>();
  #note: (key: string, endsMs: number) => void = () => undefined;

  constructor(max: number, now: () => number) {
    this.#max = max;
    this.#now = now;
  }

  /** Shares counts with the windows of the same name in other processes, which learn of each count shortly after. */
  share(name: string, exchange: CountExchange | undefined): this {
    if (!exchange) return this;
    this.#note = (key, endsMs) => exchange.note(name, key, endsMs);
    exchange.join(name, ({ key, endsMs, count }) => {
      if (endsMs > this.#now()) (this.get(key) ?? this.#open(key, endsMs)).count += count;
    });
    return this;
  }

  /** Returns the window of a key with one more count. */
  count(key: string): MinuteWindow {
    const window = this.get(key) ?? this.#open(key, this.#now() + windowMs);
    window.count += 1;
    this.#note(key, window.endsMs);
    return window;
  }

  /** Returns the window of a key. Undefined if there is none, if it has ended, or if the clock was set back since. */
  get(key: string): MinuteWindow | undefined {
    const window = this.#windows.get(key);
    const leftMs = window ? window.endsMs - this.#now() : 0;
    return leftMs > 0 && leftMs <= windowMs ? window : undefined;
  }

  /** Returns the seconds until a window ends, at least one. */
  secondsLeft({ endsMs }: MinuteWindow): number {
    return Math.max(1, Math.ceil((endsMs - this.#now()) / 1000));
  }

  #open(key: string, endsMs: number): MinuteWindow {
    const window = { endsMs, count: 0 };
    // Delete it first, so that windows stay in the order in which they were opened.
    this.#windows.delete(key);
    this.#windows.set(key, window);
    if (this.#windows.size > this.#max) {
      const [oldest = ''] = this.#windows.keys();
      this.#windows.delete(oldest);
    }
    return window;
  }
}
