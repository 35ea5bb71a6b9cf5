/** First in, first out, in constant time. What is taken out is not kept in memory. */
export class Fifo<T> {
  readonly #items: (T | undefined)[] = [];
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
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.length === 0 || (this.#head > 1_000 && this.#head * 2 > this.#items.length)) {
      this.#forget();
    }
    return item;
  }

  #forget(): void {
    this.#items.splice(0, this.#head);
    this.#head = 0;
  }

  /** Takes out all but the first `kept`. */
  takeBehind(kept: number): T[] {
    const taken = this.#items.splice(this.#head + kept) as T[];
    if (this.length === 0) this.#forget();
    return taken;
  }
}
