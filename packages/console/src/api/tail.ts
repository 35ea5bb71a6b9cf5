import { ApiProblem } from './problem';
import { pathWith, type Query, send } from './request';
import type { StreamEvent } from './types';

export type TailState = 'connecting' | 'open' | 'waiting';

export interface Tail {
  close(): void;
}

const retryMs = 2_000;

/**
 * Follows the event stream. `EventSource` cannot send a token, so this reads the stream with fetch. After a break it
 * continues after the last event that it has seen, so nothing is missed.
 */
export function followEvents(
  filter: Query,
  onEvents: (events: StreamEvent[]) => void,
  onState: (state: TailState) => void,
): Tail {
  const closed = new AbortController();
  let lastId: string | undefined;

  async function readOnce(): Promise<void> {
    onState('connecting');
    const response = await send(pathWith('/v1/events/tail', filter), {
      signal: closed.signal,
      headers: { accept: 'text/event-stream', ...(lastId && { 'last-event-id': lastId }) },
    });
    onState('open');
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const messages = (rest + value).split('\n\n');
      rest = messages.pop() ?? '';
      const events = messages.flatMap(eventOf);
      lastId = events.at(-1)?.id ?? lastId;
      if (events.length > 0) onEvents(events);
    }
  }

  async function follow(): Promise<void> {
    while (!closed.signal.aborted) {
      let waitMs = retryMs;
      try {
        await readOnce();
      } catch (error) {
        if (closed.signal.aborted) return;
        if (error instanceof ApiProblem && error.status !== 429) return;
        if (error instanceof ApiProblem) waitMs = error.retryAfterMs ?? retryMs;
      }
      if (closed.signal.aborted) return;
      onState('waiting');
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }

  void follow();
  return { close: () => closed.abort() };
}

function eventOf(message: string): StreamEvent[] {
  const data = message
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => line.slice('data: '.length))
    .join('\n');
  return data === '' ? [] : [JSON.parse(data)];
}
