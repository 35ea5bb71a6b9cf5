interface Entry<T> {
  atMs: number;
  /** Entries of the same time keep the order in which they were added. */
  order: number;
  item: T;
}

/** Items in the order of their times: a binary heap, the earliest on top. */
export class Timeline<T> {
  readonly #heap: Entry<T>[] = [];
  #order = 0;

  get firstAtMs(): number | undefined {
    return this.#heap[0]?.atMs;
  }

  add(atMs: number, item: T): void {
    this.#order += 1;
    const heap = this.#heap;
    let index = heap.push({ atMs, order: this.#order, item }) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(heap[index]!, heap[parent]!)) break;
      [heap[index], heap[parent]] = [heap[parent]!, heap[index]!];
      index = parent;
    }
  }

  take(): T | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first?.item;
    heap[0] = last;
    let index = 0;
    for (;;) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      let least = index;
      if (left < heap.length && isBefore(heap[left]!, heap[least]!)) least = left;
      if (right < heap.length && isBefore(heap[right]!, heap[least]!)) least = right;
      if (least === index) return first.item;
      [heap[index], heap[least]] = [heap[least]!, heap[index]!];
      index = least;
    }
  }
}

function isBefore<T>(one: Entry<T>, other: Entry<T>): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}
