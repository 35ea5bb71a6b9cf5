import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordEvents } from '../../src/events/recording-store.js';
import { auditRows } from '../support/audit.js';
import { event, record } from '../support/client.js';
import { startReceiver } from '../support/receiver.js';
import { recordText } from '../support/recording.js';
import { sharedService } from '../support/service.js';
import { newTenant, type Tenant } from '../support/tenant.js';

const service = await sharedService();
const caller = new pg.Client({ connectionString: service.databaseUrl });
beforeAll(() => caller.connect());
afterAll(() => caller.end());

const filter = {
  subject_id: [{ prefix: 'SUB-' }],
  payload: { region: ['eu', 'ch'], amount: [{ gte: 1000 }] },
};
const wanted = { subject: { type: 'invoice', id: 'SUB-1' }, payload: { region: 'eu', amount: 1000 } };
const others = [
  { ...wanted, subject: { type: 'invoice', id: 'INV-1' } },
  { ...wanted, payload: { region: 'us', amount: 1000 } },
  { ...wanted, payload: { region: 'eu', amount: 999.99 } },
  { ...wanted, payload: { region: 'eu' } },
];
const change = (tenant: Tenant, webhook: { id: string }, body: object) =>
  tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, body);

describe.concurrent('a webhook with a filter', () => {
  const ways: [string, (events: object[]) => Promise<readonly { id: string }[]>][] = [
    ['the platform listener', (events) => record(service, ...(events as ReturnType<typeof event>[]))],
    ['TypeScript', (events) => recordEvents(caller, events as never)],
    ['SQL', (events) => recordText(caller, JSON.stringify(events))],
  ];
  it.each(ways)('gets only the events that pass it, recorded by %s', async (_way, recordAll) => {
    const tenant = await newTenant(service);
    const [receiver, all] = [await startReceiver(), await startReceiver()];
    const filtered = await tenant.webhook(receiver, { filter });
    const unfiltered = await tenant.webhook(all);
    const own = { ...event(), organization_id: tenant.organization };
    const ids = (await recordAll([...others, wanted].map((fields) => ({ ...own, ...fields })))).map(
      ({ id }) => id,
    );
    const to = await Promise.all(ids.map((id) => tenant.webhooksOf({ id })));
    expect(to.map((webhooks) => webhooks.includes(filtered.id))).toEqual([...others.map(() => false), true]);
    expect(to.every((webhooks) => webhooks.includes(unfiltered.id))).toBe(true);
  });

  it('shows the filter as it was given, changes it, and removes it with null', async () => {
    const tenant = await newTenant(service);
    const { webhook } = await tenant.connect(200, { filter });
    expect(webhook.filter).toEqual(filter);
    const changed = await change(tenant, webhook, { filter: { payload: { b: [1], a: [null] } } });
    expect(JSON.stringify(changed.filter)).toBe('{"payload":{"b":[1],"a":[null]}}');
    expect(await tenant.webhooksOf(await tenant.record(wanted))).toEqual([]);
    expect((await change(tenant, webhook, { filter: null })).filter).toBeNull();
    expect(await tenant.webhooksOf(await tenant.record(wanted))).toEqual([webhook.id]);
    const entries = await auditRows(service.database, tenant.organization);
    expect(entries.at(-1)!.changes).toEqual({ filter: { from: changed.filter, to: null } });
  });

  it('applies to replays as it is then, and not to redeliveries', async () => {
    const tenant = await newTenant(service);
    const { webhook, receiver } = await tenant.connect();
    await tenant.record(others[0]);
    const first = await tenant.record(wanted);
    const [delivery, skipped] = await tenant.settled(webhook, 2);
    await change(tenant, webhook, { filter });
    const range = { from: '2020-01-01', to: '2100-01-01' };
    const replay = await tenant.data('POST', `/v1/webhooks/${webhook.id}/replay`, range);
    expect(replay.total).toBe(1);
    expect((await tenant.settled(webhook, 3))[0]).toMatchObject({ event_id: first.id });
    const path = `/v1/webhooks/${webhook.id}/deliveries/${skipped.id}/redeliver`;
    await tenant.data('POST', path);
    await receiver.deliveries.nth(4);
    expect(delivery.event_id).toBe(first.id);
  });

  it('does not keep an event from being recorded that PostgreSQL cannot examine', async () => {
    const tenant = await newTenant(service);
    await tenant.connect(200, { filter: { payload: { a: [1] } } });
    const text = `[${JSON.stringify({ ...event(), organization_id: tenant.organization, payload: 0 }).replace('"payload":0', '"payload":{"a":1,"n":1e200000}')}]`;
    const [recorded] = await recordText(caller, text);
    expect(await tenant.webhooksOf(recorded!)).toEqual([]);
  });
});

describe('a filter that is not in order', () => {
  const nested = (levels: number): object => (levels === 0 ? { a: [1] } : { a: nested(levels - 1) });
  const wrong: [fault: string, filter: unknown, pointers: string[]][] = [
    ['is not an object', [], ['/filter']],
    ['is empty', {}, ['/filter']],
    ['has an empty array', { subject_id: [] }, ['/filter/subject_id']],
    ['has an empty object', { payload: { a: {} } }, ['/filter/payload/a']],
    ['has unknown fields', { type: ['a'], 'x/y~': 1 }, ['/filter/type', '/filter/x~1y~0']],
    ['has a bare value', { payload: { a: 1 } }, ['/filter/payload/a']],
    ['has a nested array', { payload: { a: [1, [2]] } }, ['/filter/payload/a/1']],
    ['has an unknown condition', { payload: { a: [{ suffix: 'x' }] } }, ['/filter/payload/a/0/suffix']],
    ['mixes conditions', { payload: { a: [{ prefix: 'x', gt: 1 }] } }, ['/filter/payload/a/0']],
    ['has three bounds', { payload: { a: [{ gt: 1, gte: 1, lt: 2 }] } }, ['/filter/payload/a/0']],
    ['has an empty condition', { payload: { a: [{}] } }, ['/filter/payload/a/0']],
    [
      'has values of the wrong type',
      {
        payload: {
          a: [{ prefix: 1 }, { exists: 'yes' }, { gt: '1' }, { not: 1 }, { not: [] }, { not: [{}] }],
        },
      },
      ['0/prefix', '1/exists', '2/gt', '3/not', '4/not', '5/not/0'].map((end) => `/filter/payload/a/${end}`),
    ],
    [
      'has a number that is not exact',
      { payload: { a: [2 ** 53, { gt: -(2 ** 53) }] } },
      ['/filter/payload/a/0', '/filter/payload/a/1/gt'],
    ],
    ['has text that cannot be stored', { payload: { a: ['\u0000'] } }, ['/filter/payload/a/0']],
    ['is too deep', { payload: nested(5) }, ['/filter/payload/a/a/a/a/a']],
    ['has a long key', { payload: { ['k'.repeat(129)]: [1] } }, [`/filter/payload/${'k'.repeat(129)}`]],
    ['has too many conditions', { payload: { a: Array(65).fill(1) } }, ['/filter']],
    ['is too large', { payload: { a: ['x'.repeat(4096)] } }, ['/filter']],
  ];
  it.each(wrong)('is refused at once with every pointer if it %s', async (_fault, filter, pointers) => {
    const tenant = await newTenant(service);
    const { status, body } = await tenant.create({ url: 'https://example.com', filter });
    expect([status, body.errors.map(({ pointer }: { pointer: string }) => pointer)]).toEqual([422, pointers]);
  });

  it('is accepted at its limits', async () => {
    const tenant = await newTenant(service);
    const { receiver } = await tenant.connect();
    const limit = { payload: { ...nested(4), ['k'.repeat(128)]: Array(63).fill(1) } };
    expect((await tenant.webhook(receiver, { filter: limit })).filter).toEqual(limit);
  });
});
