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
      return new Response(new ReadableStream({ start }), {
        headers: { 'content-type': 'text/event-stream' },
      });
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

describe('the tail ends', () => {
  it('with an error that names the token function, if that function returns nothing', async () => {
    const token = () => new Promise<string>(() => undefined);
    const posthorn = new Posthorn({ url: 'http://127.0.0.1:1', token });
    const next = posthorn.events.tail({ organization_id: 'ORG-acme' })[Symbol.asyncIterator]().next();
    const failure = next.catch((error) => error);
    await setImmediate();
    vi.advanceTimersByTime(45_000);
    expect(await failure).toMatchObject({
      code: 'timeout',
      detail: 'The token function did not return a token within 45000 ms.',
    });
  });
});

describe('the tail waits', () => {
  const start = ': following\n\n';
  const event = 'id: EVT-1\ndata: {"id":"EVT-1"}\n\n';

  /** Returns how long the tail waits after each of several connections, which end after `text`. */
  async function waitsAfter(text: string, lastingMs: number): Promise<number[]> {
    let nowMs = 0;
    const now = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
    onTestFinished(() => now.mockRestore());
    const waits: number[] = [];
    const stop = new AbortController();
    const posthorn = new Posthorn({
      ...{ url: 'http://127.0.0.1:1', token: 'unused' },
      fetch: async () => new Response(text, { headers: { 'Content-Type': 'text/event-stream' } }),
    });
    const tail = posthorn.events.tail(
      { organization_id: 'ORG-acme' },
      {
        signal: stop.signal,
        onConnect: () => {
          nowMs += lastingMs;
        },
        onDisconnect: (_error, waitMs) => {
          if (waits.push(waitMs) === 4) stop.abort(new Error('enough'));
          else void setImmediate().then(() => vi.advanceTimersByTime(Math.ceil(waitMs)));
        },
      },
    );
    const follow = async () => {
      for await (const _event of tail);
    };
    await expect(follow()).rejects.toThrow('enough');
    return waits;
  }

  it('longer and longer if a proxy cuts every connection as soon as it is open', async () => {
    const [first, second, third, fourth] = await waitsAfter(start, 0);
    expect(first).toBeLessThanOrEqual(250);
    expect(second).toBeGreaterThanOrEqual(1_000);
    expect(third).toBeGreaterThanOrEqual(2_000);
    expect(fourth).toBeGreaterThanOrEqual(4_000);
  });

  it.each([
    ['brought an event', start + event, 0],
    ['lasted', start, 10_000],
  ])('almost no time after each connection that %s', async (_what, text, lastingMs) => {
    for (const waitMs of await waitsAfter(text, lastingMs)) expect(waitMs).toBeLessThanOrEqual(250);
  });
});
