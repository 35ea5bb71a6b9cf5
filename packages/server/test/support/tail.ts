import type { TestService } from './service.js';

export interface TailMessage {
  id: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape
  event: any;
  text: string;
}

/** A reader of `GET /v1/events/tail`. Opened means that the stream has begun, so what is recorded next is in it. */
export class Tail {
  readonly #reader: ReadableStreamDefaultReader<string>;
  readonly #abort: AbortController;
  #text = '';
  /** Continues from where this tail began, also if it never sent an event. */
  startId = '';

  private constructor(reader: ReadableStreamDefaultReader<string>, abort: AbortController) {
    this.#reader = reader;
    this.#abort = abort;
  }

  static async open(
    service: TestService,
    token: string,
    options: { query?: string; lastEventId?: string } = {},
  ): Promise<Tail> {
    const abort = new AbortController();
    const url = `${service.publicUrl}/v1/events/tail?organization_id=ORG-acme${options.query ?? ''}`;
    const response = await fetch(url, {
      headers: {
        authorization: `Bearer ${token}`,
        ...(options.lastEventId !== undefined && { 'last-event-id': options.lastEventId }),
      },
      signal: abort.signal,
    });
    if (response.status !== 200 || !response.body) throw new Error(`no tail: ${await response.text()}`);
    const tail = new Tail(response.body.pipeThrough(new TextDecoderStream()).getReader(), abort);
    tail.startId = /^id: (.+)$/m.exec((await tail.#block()) ?? '')?.[1] ?? '';
    return tail;
  }

  /** The next message; comments are passed over. */
  async next(): Promise<TailMessage> {
    for (;;) {
      const block = await this.#block();
      if (block === undefined) throw new Error('the tail ended');
      const lines = block.split('\n');
      const field = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const data = field('data');
      if (data !== undefined) return { id: field('id') ?? '', event: JSON.parse(data), text: block };
    }
  }

  async take(count: number): Promise<TailMessage[]> {
    const messages: TailMessage[] = [];
    while (messages.length < count) messages.push(await this.next());
    return messages;
  }

  /** Resolves to true when the server ends the stream. */
  async ended(): Promise<true> {
    while ((await this.#block()) !== undefined);
    return true;
  }

  close(): void {
    this.#abort.abort();
  }

  async #block(): Promise<string | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end >= 0) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        return block;
      }
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#text += value;
    }
  }
}
