/** Wakes the subscribers of a key in this process before their next poll. */
export class Notifier {
  readonly #subscribers = new Map<string, Set<Subscription>>();

  notify(keys: Iterable<string>): void {
    for (const key of keys) for (const one of this.#subscribers.get(key) ?? []) one.notify();
  }

  /** Subscribes to a key from now on. Close the subscription when done. */
  subscribe(key: string): Subscription {
    const subscribers = this.#subscribers.get(key) ?? new Set();
    const subscription = new Subscription(() => {
      subscribers.delete(subscription);
      if (subscribers.size === 0) this.#subscribers.delete(key);
    });
    this.#subscribers.set(key, subscribers.add(subscription));
    return subscription;
  }
}

export class Subscription {
  readonly close: () => void;
  #isNotified = false;
  #wake: () => void = () => undefined;

  constructor(close: () => void) {
    this.close = close;
  }

  notify(): void {
    this.#isNotified = true;
    this.#wake();
  }

  /** Resolves when there has been a notification since the last call, when `ms` have passed, or on abort. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isNotified && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => this.#wake(), ms);
        this.#wake = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', this.#wake);
          this.#wake = () => undefined;
          resolve();
        };
        signal.addEventListener('abort', this.#wake);
      });
    }
    this.#isNotified = false;
  }
}
