import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { event } from '../../server/test/support/client.js';
import { platformToken, sharedService } from '../../server/test/support/service.js';
import { newTenant } from '../../server/test/support/tenant.js';
import { type NewEvent, Posthorn, Producer, type ProducerOptions } from '../src/index.js';

const service = await sharedService();

type Send = (url: string, init: RequestInit) => Promise<Response>;

/** A producer for an organization of its own, whose requests the test sees. */
async function producing(
  options: Partial<ProducerOptions> = {},
  intercept?: (count: number, send: () => Promise<Response>) => Promise<Response>,
) {
  const { organization, token } = await newTenant(service);
  const sizes: number[] = [];
  const send: Send = (url, init) => {
    sizes.push(JSON.parse(String(init.body)).length);
    const pass = () => fetch(url, init);
    return intercept ? intercept(sizes.length, pass) : pass();
  };
  const producer = new Producer({
    ...{ url: service.platformUrl, token: platformToken, fetch: send as typeof fetch },
    ...options,
  });
  const make = (fields: Record<string, unknown> = {}) =>
    event({ organization_id: organization, ...fields }) as unknown as NewEvent;
  const events = () =>
    new Posthorn({ url: service.publicUrl, token }).events
      .list({ organization_id: organization, order: 'asc', limit: 100 })
      .all();
  return { producer, make, sizes, events };
}

const many = (count: number, make: () => NewEvent) => Array.from({ length: count }, make);

describe('a producer', () => {
  it('sends many events in few requests, and returns the id of each in order', async () => {
    const { producer, make, sizes, events } = await producing();
    const recorded = await Promise.all(many(1_200, make).map((one) => producer.send(one)));
    expect(sizes).toEqual([500, 500, 200]);
    expect((await events()).map(({ id }) => id)).toEqual(recorded.map(({ id }) => id));
    await producer.close();
  });

  it.each<[string, Partial<ProducerOptions>]>([
    ['batch.events must be a whole number of at least 1, but is 0', { batch: { events: 0 } }],
    ['batch.bytes must be greater than 0, but is -1', { batch: { bytes: -1 } }],
    ['queue.events must be a whole number of at least 1, but is 0.5', { queue: { events: 0.5 } }],
    ['queue.bytes must be greater than 0, but is NaN', { queue: { bytes: Number.NaN } }],
    ['concurrency must be a whole number of at least 1, but is 0', { concurrency: 0 }],
    ['timeoutMs must be a whole number from 1 to 2147483647, but is 2147483648', { timeoutMs: 2 ** 31 }],
  ])('is not created with a limit that would let nothing through: %s', (reason, options) => {
    const create = () => new Producer({ url: service.platformUrl, token: platformToken, ...options });
    expect(create).toThrow(new RangeError(reason));
  });

  it('is created without limits', () => {
    const none = Number.POSITIVE_INFINITY;
    const options = { batch: { events: none }, queue: { events: none, bytes: none }, concurrency: none };
    expect(() => new Producer({ url: service.platformUrl, token: platformToken, ...options })).not.toThrow();
  });

  it('sends a batch when it has enough bytes', async () => {
    const { producer, make, sizes } = await producing({ batch: { bytes: 2_000, delayMs: 60_000 } });
    const large = make({ type: 'task.created', payload: { note: 'x'.repeat(900) } });
    const [first, second, third] = many(3, () => large).map((one) => producer.send(one));
    await Promise.all([first, second]);
    expect(sizes).toEqual([1, 1]);
    await producer.close();
    expect((await third)?.id).toMatch(/^EVT-/);
  });

  it('does not wait for more events than arrive in time', async () => {
    const { producer, make, sizes } = await producing({ batch: { delayMs: 1 } });
    expect((await producer.send(make())).id).toMatch(/^EVT-/);
    expect(sizes).toEqual([1]);
    await producer.close();
  });

  it('records an event once if the response to its batch was lost', async () => {
    const { producer, make, sizes, events } = await producing({}, async (count, send) => {
      const response = await send();
      if (count === 1) throw new TypeError('fetch failed');
      return response;
    });
    const recorded = await Promise.all(many(3, make).map((one) => producer.send(one)));
    expect(sizes).toEqual([3, 3]);
    expect((await events()).map(({ id }) => id)).toEqual(recorded.map(({ id }) => id));
    await producer.close();
  });

  it('waits as long as Retry-After says, and gives up after its time', async () => {
    const busy = () =>
      new Response('{"code":"unavailable","detail":"Full."}', {
        status: 503,
        headers: { 'Retry-After': '0' },
      });
    const patient = await producing({}, async (count, send) => (count < 3 ? busy() : send()));
    expect((await patient.producer.send(patient.make())).id).toMatch(/^EVT-/);
    expect(patient.sizes).toHaveLength(3);
    const later = new Response('{"code":"unavailable","detail":"Full."}', {
      status: 503,
      headers: { 'Retry-After': '5' },
    });
    const hasty = await producing({ giveUpMs: 1_000 }, async () => later.clone());
    await expect(hasty.producer.send(hasty.make())).rejects.toMatchObject({
      status: 503,
      code: 'unavailable',
    });
  });

  it('repeats a batch while a proxy cannot reach the service', async () => {
    const { producer, make, sizes } = await producing({}, async (count, send) =>
      count === 1 ? new Response('<h1>Bad gateway</h1>', { status: 502 }) : send(),
    );
    expect((await producer.send(make())).id).toMatch(/^EVT-/);
    expect(sizes).toHaveLength(2);
  });

  it('does not give up early if the clock is set forward', async () => {
    const { now } = Date;
    onTestFinished(() => void vi.restoreAllMocks());
    const { producer, make, sizes } = await producing({}, async (count, send) => {
      if (count > 1) return send();
      vi.spyOn(Date, 'now').mockImplementation(() => now() + 3_600_000);
      return new Response('{"code":"unavailable","detail":"Full."}', { status: 503 });
    });
    expect((await producer.send(make())).id).toMatch(/^EVT-/);
    expect(sizes).toHaveLength(2);
  });

  it('refuses only the events that are not valid', async () => {
    const { producer, make, events } = await producing();
    const [good, bad, unknown, last] = await Promise.allSettled([
      producer.send(make()),
      producer.send(make({ actor: { type: 'user' } })),
      producer.send(make({ type: 'invoice.pade' })),
      producer.send(make()),
    ]);
    expect(good.status).toBe('fulfilled');
    expect(last.status).toBe('fulfilled');
    expect(bad).toMatchObject({
      reason: { status: 422, errors: [{ pointer: '/actor/id', code: 'required' }] },
    });
    expect(unknown).toMatchObject({ reason: { errors: [{ pointer: '/type' }] } });
    expect(await events()).toHaveLength(2);
    await producer.close();
  });

  it('describes what is wrong with an event in whole sentences', async () => {
    const { producer, make } = await producing();
    const refused = producer.send(make({ type: 'invoice.pade', actor: { type: 'user' } }));
    await expect(refused).rejects.toMatchObject({
      detail: '/actor/id: is required. /type: is not a known event type; did you mean invoice.paid?',
    });
    await producer.close();
  });

  it('takes no more than its queue holds, and says when there is room', async () => {
    const { producer, make, events } = await producing({ queue: { events: 10 }, batch: { events: 5 } });
    const sent = many(10, make).map((one) => producer.send(one));
    await expect(producer.send(make())).rejects.toMatchObject({ code: 'queue_full' });
    await producer.ready();
    expect(producer.size).toBeLessThan(10);
    sent.push(producer.send(make()));
    await Promise.all(sent);
    expect(await producer.sendAll(many(35, make))).toBe(35);
    expect(await events()).toHaveLength(46);
    await producer.close();
  });

  describe('with several callers that wait for room', () => {
    /** A producer whose requests all succeed, and the subjects of the events in the order in which they were sent. */
    function instant(options: Partial<ProducerOptions>) {
      const sent: string[] = [];
      const send: Send = async (_url, { body }) => {
        const events = JSON.parse(String(body)) as NewEvent[];
        sent.push(...events.map(({ subject }) => subject.id));
        return Response.json({ data: events.map(() => ({ id: 'EVT-1', created_at: '' })) }, { status: 201 });
      };
      const common = { url: 'http://127.0.0.1', token: 'unused', fetch: send as typeof fetch };
      return { producer: new Producer({ ...common, batch: { events: 5, delayMs: 1 }, ...options }), sent };
    }
    const eventsOf = (id: string, count: number) =>
      many(count, () => event({ subject: { type: 'task', id } }) as unknown as NewEvent);

    it.each([
      ['events', { events: 10 }],
      ['bytes', { bytes: 2_000 }],
    ])('no sendAll fails or falls behind if the queue is full of %s', async (_limit, queue) => {
      const { producer, sent } = instant({ queue });
      const sources = ['a', 'b', 'c'].map((id) => producer.sendAll(eventsOf(id, 100)));
      expect(await Promise.all(sources)).toEqual([100, 100, 100]);
      for (const id of ['a', 'b', 'c']) {
        const early = sent.slice(0, 150).filter((one) => one === id).length;
        expect(early).toBeGreaterThanOrEqual(40);
      }
    });

    it('sendAll does not fail if others take its room without waiting', async () => {
      const { producer, sent } = instant({ queue: { events: 1 }, batch: { events: 1 } });
      const [hasty] = eventsOf('b', 1);
      const sending = producer.sendAll(eventsOf('a', 2));
      // Tries in every gap that sendAll leaves.
      for (let gap = 0; gap < 50; gap += 1) {
        await null;
        producer.send(hasty!).catch(() => undefined);
      }
      expect(await sending).toBe(2);
      expect(sent.filter((id) => id === 'a')).toHaveLength(2);
    });

    it('each can send after ready, one after the other', async () => {
      const { producer, sent } = instant({ queue: { events: 1 }, batch: { events: 1 } });
      const sendOne = async (id: string) => {
        await producer.ready();
        await producer.send(eventsOf(id, 1)[0]!);
      };
      await Promise.all(['a', 'b', 'c', 'd'].map(sendOne));
      expect(sent).toEqual(['a', 'b', 'c', 'd']);
    });

    it('one that sends nothing, or stops waiting, does not hold up the others', async () => {
      const { producer } = instant({ queue: { events: 1 }, batch: { events: 1 } });
      await producer.ready();
      const stop = new AbortController();
      const stopped = producer.ready(stop.signal).catch((error) => error);
      const next = producer.ready();
      stop.abort('enough');
      expect(await stopped).toBe('enough');
      await next;
      await producer.send(eventsOf('a', 1)[0]!);
    });
  });

  it('rejects an event that JSON cannot express, and sends the others', async () => {
    const { producer, make } = await producing();
    const [bad, good] = await Promise.allSettled([
      producer.send(make({ payload: { amount: 10n } })),
      producer.send(make()),
    ]);
    expect(bad).toMatchObject({ status: 'rejected', reason: { message: expect.stringContaining('BigInt') } });
    expect(good.status).toBe('fulfilled');
    await producer.close();
  });

  it('sends what is queued when it is closed, and accepts nothing after that', async () => {
    const { producer, make, events } = await producing({ batch: { delayMs: 60_000 } });
    void producer.send(make());
    void producer.send(make());
    await producer.close();
    expect(await events()).toHaveLength(2);
    await expect(producer.send(make())).rejects.toMatchObject({ code: 'closed' });
  });
});
