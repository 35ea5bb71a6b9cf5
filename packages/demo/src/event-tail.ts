import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from './api-client.js';
import type { StreamEvent } from './figures.js';

const againMs = 500;

export interface TailOptions {
  api: ApiClient;
  organizationId: string;
  onEvent: (event: StreamEvent) => void;
  onTrouble: (message: string) => void;
}

/** Follows `GET /v1/events/tail` and resumes after a lost connection. */
export class EventTail {
  readonly #options: TailOptions;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  #lastId: string | undefined;

  private constructor(options: TailOptions, lastId: string | undefined) {
    this.#options = options;
    this.#lastId = lastId;
    this.#ended = this.#follow();
  }

  /** Starts after the newest event. */
  static async open(options: TailOptions): Promise<EventTail> {
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
    while (!signal.aborted) {
      await this.#followOnce(signal).catch((error: Error) => {
        if (!signal.aborted) this.#options.onTrouble(`The tail was interrupted: ${error.message}`);
      });
      await delay(againMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #followOnce(signal: AbortSignal): Promise<void> {
    const { api, organizationId } = this.#options;
    const headers: Record<string, string> = this.#lastId ? { 'last-event-id': this.#lastId } : {};
    const text = await api.follow(`/v1/events/tail?organization_id=${organizationId}`, headers, signal);
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of text) {
      const messages = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
      rest = messages.pop() ?? '';
      for (const message of messages) this.#read(message);
    }
  }

  #read(message: string): void {
    const data = /^data: (.*)$/m.exec(message)?.[1];
    if (data === undefined) return;
    const event = JSON.parse(data) as StreamEvent;
    this.#lastId = event.id;
    this.#options.onEvent(event);
  }
}

async function newestId({ api, organizationId }: TailOptions): Promise<string | undefined> {
  const path = `/v1/events?organization_id=${organizationId}&limit=1`;
  const { data } = await api.ask<{ data: StreamEvent[] }>('GET', path);
  return data[0]?.id;
}
