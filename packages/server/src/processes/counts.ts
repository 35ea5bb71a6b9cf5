import type { Count, CountExchange } from '../web/minute-windows.js';

/** Collects what this process counts, and shares it with the other processes shortly after. */
export class Counts implements CountExchange {
  readonly #everyMs: number;
  readonly #share: (counts: readonly Count[]) => void;
  readonly #receivers = new Map<string, (count: Count) => void>();
  #noted = new Map<string, Count>();

  constructor(everyMs: number, share: (counts: readonly Count[]) => void) {
    this.#everyMs = everyMs;
    this.#share = share;
  }

  join(name: string, receive: (count: Count) => void): void {
    this.#receivers.set(name, receive);
  }

  note(name: string, key: string, endsMs: number): void {
    const id = `${name} ${key}`;
    const noted = this.#noted.get(id);
    if (noted) noted.count += 1;
    else {
      if (this.#noted.size === 0) setTimeout(() => this.#flush(), this.#everyMs).unref();
      this.#noted.set(id, { name, key, endsMs, count: 1 });
    }
  }

  receive(counts: readonly Count[]): void {
    for (const count of counts) this.#receivers.get(count.name)?.(count);
  }

  #flush(): void {
    const noted = [...this.#noted.values()];
    this.#noted = new Map();
    this.#share(noted);
  }
}
