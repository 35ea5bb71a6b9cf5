import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { endSharedService } from '../../server/test/support/service.js';
import { Posthorn } from '../src/index.js';

await endSharedService();

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
});

/** Returns a tail whose connections the test writes to. */
function openTail() {
  const connections: ReadableStreamDefaultController<Uint8Array>[] = [];
  const posthorn = new Posthorn({
    ...{ url: 'http://127.0.0.1:1', token: 'unused' },
    fetch: async (_url, init) => {
      const start = (controller: ReadableStreamDefaultController<Uint8Array>) => {
        connections.push(controller);
        init!.signal!.addEventListener('abort', () => controller.error(init!.signal!.reason));
      };
      return new Response(new ReadableStream({ start }));
    },
  });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const tail = posthorn.events.tail({ organization_id: 'ORG-acme' }, { signal: stop.signal });
  const send = async (text: string) => {
    await setImmediate();
    expect(connections).toHaveLength(1);
    connections[0]!.enqueue(new TextEncoder().encode(text));
    await setImmediate();
  };
  return { events: tail[Symbol.asyncIterator](), send };
}

describe('the tail keeps its connection', () => {
  it('while a large event arrives slowly', async () => {
    const { events, send } = openTail();
    const next = events.next();
    for (const piece of [': following\n\n', 'id: EVT-1\ndata: {"id":', '"EVT-1"', '}\n\n']) {
      await send(piece);
      vi.advanceTimersByTime(30_000);
    }
    expect((await next).value).toEqual({ id: 'EVT-1' });
  });

  it('while an event is being handled', async () => {
    const { events, send } = openTail();
    const next = events.next();
    await send('id: EVT-1\ndata: {"id":"EVT-1"}\n\n');
    expect((await next).value).toEqual({ id: 'EVT-1' });
    vi.advanceTimersByTime(60_000);
    await send('id: EVT-2\ndata: {"id":"EVT-2"}\n\n');
    expect((await events.next()).value).toEqual({ id: 'EVT-2' });
  });
});
