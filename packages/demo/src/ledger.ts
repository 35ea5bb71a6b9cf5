/**
 * Compares what the company was told was recorded with what the stream shows. An id is kept only until it
 * came from both sides, so the ledger stays as short as the stream is behind.
 */
export class Ledger {
  readonly #told = new Set<string>();
  readonly #shown = new Set<string>();

  /** The platform answered that it recorded this event. */
  told(id: string): void {
    if (!this.#shown.delete(id)) this.#told.add(id);
  }

  /** The stream has this event. */
  shown(id: string): void {
    if (!this.#told.delete(id)) this.#shown.add(id);
  }

  /** Recorded, we were told, but not shown yet. */
  get missing(): number {
    return this.#told.size;
  }

  /** Shown, but recorded by somebody else. */
  get others(): number {
    return this.#shown.size;
  }
}
