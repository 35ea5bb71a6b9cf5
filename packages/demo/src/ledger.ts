/**
 * Compares the events that the platform acknowledged with those in the stream. It keeps an ID only until both sides
 * have it, so it stays as short as the lag of the stream.
 */
export class Ledger {
  readonly #acknowledged = new Set<string>();
  readonly #shown = new Set<string>();

  /** Notes that the platform acknowledged this event. */
  acknowledged(id: string): void {
    if (!this.#shown.delete(id)) this.#acknowledged.add(id);
  }

  /** Notes that the stream showed this event. */
  shown(id: string): void {
    if (!this.#acknowledged.delete(id)) this.#shown.add(id);
  }

  /** Returns how many acknowledged events the stream has not shown yet. */
  get missing(): number {
    return this.#acknowledged.size;
  }

  /** Returns how many events in the stream were recorded by others. */
  get others(): number {
    return this.#shown.size;
  }
}
