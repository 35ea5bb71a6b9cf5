import type { HistoryLocation } from '@tanstack/react-router';

/** About as many entries as browsers keep in a tab's history. */
const entriesMax = 50;

const memories: EntryMemory<unknown>[] = [];

/** Remembers a value for each of the latest entries of the tab's history, until the page is loaded again. */
export class EntryMemory<T> {
  readonly #values = new Map<string, T>();

  constructor() {
    memories.push(this);
  }

  get(entry: HistoryLocation): T | undefined {
    return this.#values.get(keyOf(entry));
  }

  set(entry: HistoryLocation, value: T): void {
    const key = keyOf(entry);
    this.#values.delete(key);
    this.#values.set(key, value);
    for (const oldest of this.#values.keys()) {
      if (this.#values.size <= entriesMax) break;
      this.#values.delete(oldest);
    }
  }
}

/** Copies the value of an entry to the entry that replaced it. */
export function copyMemory(replaced: HistoryLocation, entry: HistoryLocation): void {
  for (const memory of memories) {
    const value = memory.get(replaced);
    if (value !== undefined) memory.set(entry, value);
  }
}

/** An entry that the router did not create has no key. */
function keyOf({ href, state }: HistoryLocation): string {
  return state.__TSR_key ?? href;
}
