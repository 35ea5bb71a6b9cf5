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

  /**
   * A claim that began then left nothing. What came since is still expected; where it is `claimedNext`, new ones pass it
   * by no more than a moment.
   */
  expectNone(claimedAtMs: number, claimedNext: boolean): void {
    const isNone = this.#expectedAtMs < claimedAtMs;
    if (isNone) this.#isExpected = false;
    if (isNone || claimedNext) this.#isBehind = false;
  }
}
