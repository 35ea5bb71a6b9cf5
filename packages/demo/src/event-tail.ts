import type { Posthorn, Tail } from '@posthorn/client';
import type { StreamEvent } from './figures.js';

export interface EventTailOptions {
  posthorn: Posthorn;
  organizationId: string;
  onEvent: (event: StreamEvent) => void;
  onTrouble: (message: string) => void;
}

/** Shows every new event of the stream. */
export class EventTail {
  readonly #options: EventTailOptions;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  #lastId: string | undefined;

  private constructor(options: EventTailOptions, lastId: string | undefined) {
    this.#options = options;
    this.#lastId = lastId;
    this.#ended = this.#follow();
  }

  /** Starts after the newest event. */
  static async open(options: EventTailOptions): Promise<EventTail> {
    return new EventTail(options, await newestId(options));
  }

  /** Returns whether every event that is now in the stream has been shown. */
  async isUpToDate(): Promise<boolean> {
    return this.#lastId === (await newestId(this.#options));
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    try {
      for await (const event of this.#tail(signal)) {
        this.#lastId = event.id;
        this.#options.onEvent(event);
      }
    } catch (error) {
      if (!signal.aborted) this.#options.onTrouble(`The tail ended: ${(error as Error).message}`);
    }
  }

  #tail(signal: AbortSignal): Tail {
    const { posthorn, organizationId, onTrouble } = this.#options;
    const onDisconnect = () => onTrouble('The tail was interrupted.');
    return posthorn.events.tail(
      { organization_id: organizationId },
      { lastEventId: this.#lastId, signal, onDisconnect },
    );
  }
}

async function newestId({ posthorn, organizationId }: EventTailOptions): Promise<string | undefined> {
  const { data } = await posthorn.events.list({ organization_id: organizationId, limit: 1 }).first();
  return data[0]?.id;
}
