import type { Posthorn } from '@posthorn/client';
import type { Figures } from './figures.js';

/** Shows every new event of the stream. */
export class EventTail {
  readonly #posthorn: Posthorn;
  readonly #query: { organization_id: string };
  readonly #figures: Figures;
  readonly #stop = new AbortController();
  #ended: Promise<void> | undefined;
  #lastId: string | undefined;

  constructor(posthorn: Posthorn, organizationId: string, figures: Figures) {
    this.#posthorn = posthorn;
    this.#query = { organization_id: organizationId };
    this.#figures = figures;
  }

  /** Starts after the newest event. */
  async open(): Promise<void> {
    this.#lastId = await this.#newestId();
    this.#ended = this.#follow();
  }

  /** Returns whether every event that is now in the stream has been shown. */
  async isUpToDate(): Promise<boolean> {
    return this.#lastId === (await this.#newestId());
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    const { troubled } = this.#figures;
    const onDisconnect = () => troubled('The tail was interrupted.');
    const options = { lastEventId: this.#lastId, signal, onDisconnect };
    try {
      for await (const event of this.#posthorn.events.tail(this.#query, options)) {
        this.#lastId = event.id;
        this.#figures.eventShown(event);
      }
    } catch (error) {
      if (!signal.aborted) troubled(`The tail ended: ${(error as Error).message}`);
    }
  }

  async #newestId(): Promise<string | undefined> {
    const { data } = await this.#posthorn.events.list({ ...this.#query, limit: 1 }).first();
    return data[0]?.id;
  }
}
