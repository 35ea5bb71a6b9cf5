/** First in, first out, in constant time. */
export class Fifo<T> {
  readonly #items: T[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#head];
    this.#head += 1;
    if (this.#head > 1_000 && this.#head * 2 > this.#items.length) {
      this.#items.splice(0, this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** Takes out all but the first `kept`. */
  takeBehind(kept: number): T[] {
    return this.#items.splice(this.#head + kept);
  }
}
