/** What is known here of a webhook's deliveries in the database: whether there may be some. */
export class Backlog {
  #isExpected = false;
  #expectedAtMs = Number.NEGATIVE_INFINITY;

  get isExpected(): boolean {
    return this.#isExpected;
  }

  expect(): void {
    this.#isExpected = true;
    this.#expectedAtMs = performance.now();
  }

  /** A claim that began then left nothing. What came since is still expected. */
  expectNone(claimedAtMs: number): void {
    if (this.#expectedAtMs < claimedAtMs) this.#isExpected = false;
  }
}
