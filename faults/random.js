import { createHash } from 'node:crypto';

/** Draws the moments, faults and loads of one run. The same seed and scenario draw the same values in the same order. */
export class Random {
  #state;
  seed;

  constructor(seed, scenario) {
    this.seed = seed;
    this.#state = createHash('sha256').update(`${seed}/${scenario}`).digest().readUInt32LE();
  }

  /** Returns a number in [0, 1): mulberry32. */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Returns a whole number from `low` to `high`, both included. */
  between(low, high) {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick(items) {
    return items[this.between(0, items.length - 1)];
  }

  shuffle(items) {
    const mixed = [...items];
    for (let last = mixed.length - 1; last > 0; last -= 1) {
      const other = this.between(0, last);
      [mixed[last], mixed[other]] = [mixed[other], mixed[last]];
    }
    return mixed;
  }
}
