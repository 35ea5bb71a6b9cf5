/** What is known here of a webhook's deliveries in the database: whether there may be some. */
export class Backlog {
  #isExpected = false;
  #isBehind = false;
  #expectedAtMs = Number.NEGATIVE_INFINITY;

  get isExpected(): boolean {
    return this.#isExpected;
  }

  /** New ones are to queue there, too, or what waits would be passed by for as long as they come. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  expect(): void {
    this.#isExpected = true;
    this.#expectedAtMs = performance.now();
  }

  /** New ones were left there. */
  grow(): void {
    this.#isBehind = true;
    this.expect();
  }

  /** A claim that began then left nothing. What came since is still expected, but a moment old. */
  expectNone(claimedAtMs: number): void {
    this.#isBehind = false;
    if (this.#expectedAtMs < claimedAtMs) this.#isExpected = false;
  }
}
