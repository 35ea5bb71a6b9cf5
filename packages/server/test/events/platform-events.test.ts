import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { type ApiResponse, event, type RequestOptions, sendRequest } from '../support/client.js';
import { makeToken, platformToken, startTestService, type TestService } from '../support/service.js';

interface Recorded {
  id: string;
  created_at: string;
}
interface Fault {
  pointer: string;
  code: string;
  detail: string;
}

let service: TestService;
let token: string;

beforeAll(async () => {
  service = await startTestService();
  token = await makeToken(service.database);
});

const post = (options: RequestOptions) =>
  sendRequest(`${service.platformUrl}/platform/events`, { method: 'POST', token: platformToken, ...options });

const postText = (raw: string, type = 'application/json') => post({ raw, headers: { 'content-type': type } });

async function recorded(response: Promise<ApiResponse>): Promise<Recorded[]> {
  const { status, text, body } = await response;
  expect(status, text).toBe(201);
  return body.data;
}

async function refused(response: Promise<ApiResponse>): Promise<Fault[]> {
  const { status, text, body } = await response;
  expect([status, body?.code], text).toEqual([422, 'invalid_body']);
  return body.errors;
}

const read = async (query: string) =>
  (await sendRequest(`${service.publicUrl}/v1/events?organization_id=ORG-acme&limit=100&${query}`, { token }))
    .body.data;

async function eventCount(): Promise<number> {
  const text = 'select count(*) as count from posthorn.events';
  return (await service.database.query<{ count: number }>({ text })).rows[0]!.count;
}

let subjects = 0;
function freshSubject(): { type: string; id: string } {
  subjects += 1;
  return { type: 'task', id: `TSK-own-${subjects}` };
}

describe('POST /platform/events', () => {
  it('records one event and returns 201 with its id and time when it can be read', async () => {
    const subject = freshSubject();
    const [one, ...more] = await recorded(post({ body: event({ subject }) }));
    expect(more).toEqual([]);
    expect(Object.keys(one!)).toEqual(['id', 'created_at']);
    expect(await read(`subject_id=${subject.id}`)).toMatchObject([one!]);
  });

  it('records an array and responds in its order', async () => {
    const subject = freshSubject();
    const types = ['task.created', 'task.assigned', 'task.status_changed', 'task.created'];
    const returned = await recorded(post({ body: types.map((type) => event({ type, subject })) }));
    const listed = await read(`subject_id=${subject.id}&order=asc`);
    expect(listed.map(({ id, type }: { id: string; type: string }) => [id, type])).toEqual(
      returned.map(({ id }, index) => [id, types[index]]),
    );
  });

  it.each([
    ['lines', '\n'],
    ['lines of Windows', '\r\n'],
    ['lines with empty ones between', '\n\n \n'],
  ])('records NDJSON, %s', async (_what, separator) => {
    const subject = freshSubject();
    const types = ['task.created', 'task.assigned', 'task.status_changed'];
    const raw = types.map((type) => JSON.stringify(event({ type, subject }))).join(separator) + separator;
    const returned = await recorded(postText(raw, 'application/x-ndjson'));
    const listed = await read(`subject_id=${subject.id}&order=asc`);
    expect(listed.map(({ id, type }: { id: string; type: string }) => [id, type])).toEqual(
      returned.map(({ id }, index) => [id, types[index]]),
    );
  });

  it('records 1,000 events at once, and refuses 1,001, as an array or NDJSON', async () => {
    const subject = freshSubject();
    const many = (count: number) => Array.from({ length: count }, () => event({ subject }));
    expect(await recorded(post({ body: many(1_000) }))).toHaveLength(1_000);
    const lines = many(1_001).map((one) => JSON.stringify(one));
    for (const response of [
      post({ body: many(1_001) }),
      postText(lines.join('\n'), 'application/x-ndjson'),
    ]) {
      expect(await refused(response)).toMatchObject([{ pointer: '', code: 'too_many_items' }]);
    }
    const text = 'select count(*) as count from posthorn.events where subject_id = $1';
    const { rows } = await service.database.query<{ count: number }>({ text, values: [subject.id] });
    expect(rows[0]!.count).toBe(1_000);
  });

  it.each([
    ['an empty array', '[]', 'application/json'],
    ['NDJSON without a line', '\n \n', 'application/x-ndjson'],
  ])('refuses %s with 422', async (_what, raw, type) => {
    expect(await refused(postText(raw, type))).toMatchObject([{ pointer: '', code: 'too_few_items' }]);
  });

  it('refuses a missing body with 422', async () => {
    const { status, body } = await post({});
    expect([status, body.code]).toEqual([422, 'invalid_body']);
    expect(body.errors).toMatchObject([{ pointer: '', code: 'required' }]);
  });

  it.each(['null', '"event"', '42', 'true', '[null]', '[[]]', '["event"]'])(
    'refuses %s with 422',
    async (raw) => {
      const { status, body } = await postText(raw);
      expect([status, body.code]).toEqual([422, 'invalid_body']);
    },
  );

  it('names the NDJSON line that is not JSON, and records none', async () => {
    const before = await eventCount();
    const raw = `${JSON.stringify(event())}\n{"broken": \n${JSON.stringify(event())}`;
    const { status, body } = await postText(raw, 'application/x-ndjson');
    expect([status, body.code]).toEqual([400, 'malformed_json']);
    expect(body.detail).toContain('Line 2');
    expect(await eventCount()).toBe(before);
  });

  it('records all or nothing: one invalid event refuses them all', async () => {
    const before = await eventCount();
    await refused(post({ body: [event(), event({ type: 'no.such_type' }), event()] }));
    expect(await eventCount()).toBe(before);
  });
});

describe('an invalid event', () => {
  it('is refused with every fault at once, each pointer starting with the index of the event', async () => {
    const faults = await refused(
      post({
        body: [
          event(),
          { ...event({ organization_id: 'acme', actor: { type: 'user' }, payload: 'text' }), extra: 1 },
          event({
            type: 'agent.run.completed',
            payload: { service_line_id: 'LIN-1', duration_ms: 1.5, outcome: 3 },
          }),
          {},
        ],
      }),
    );
    expect(faults.map(({ pointer }) => pointer).sort()).toEqual(
      [
        '/1/organization_id',
        '/1/actor/id',
        '/1/payload',
        '/1/extra',
        '/2/payload/duration_ms',
        '/2/payload/outcome',
        '/2/payload/tokens_used',
        '/3/type',
        '/3/organization_id',
        '/3/actor',
        '/3/subject',
        '/3/payload',
      ].sort(),
    );
  });

  it('is named in the response however many there are, each with at least one fault', async () => {
    const { status, body } = await post({ body: Array.from({ length: 1_000 }, () => ({ a: 1, b: 2 })) });
    expect(status).toBe(422);
    const named = body.errors.map(({ pointer }: { pointer: string }) => Number(pointer.split('/')[1]));
    expect(new Set(named).size).toBe(1_000);
    expect(named.length).toBeLessThan(1_100);
  });

  it('has the index 0 in its pointers if it was sent alone', async () => {
    expect(await refused(post({ body: event({ subject: {} }) }))).toMatchObject([
      { pointer: '/0/subject/type', code: 'required' },
      { pointer: '/0/subject/id', code: 'required' },
    ]);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['a type that is no text', { type: 7 }, '/0/type'],
    ['no organization', { organization_id: undefined }, '/0/organization_id'],
    ['an organization without its prefix', { organization_id: 'WS-1' }, '/0/organization_id'],
    ['an empty organization', { organization_id: 'ORG-' }, '/0/organization_id'],
    ['an organization with a space', { organization_id: 'ORG-a b' }, '/0/organization_id'],
    ['a workspace without its prefix', { workspace_id: 'berlin' }, '/0/workspace_id'],
    ['an actor that is no object', { actor: 'ada' }, '/0/actor'],
    ['an actor with more fields', { actor: { type: 'user', id: 'USR-1', name: 'Ada' } }, '/0/actor/name'],
    ['an actor type with capitals', { actor: { type: 'User', id: 'USR-1' } }, '/0/actor/type'],
    ['a subject id of 129 characters', { subject: { type: 'run', id: 'x'.repeat(129) } }, '/0/subject/id'],
    ['a payload that is an array', { payload: [] }, '/0/payload'],
    ['a payload that is null', { payload: null }, '/0/payload'],
    ['an unknown field', { created_at: '2026-01-01T00:00:00Z' }, '/0/created_at'],
    ['an id of its own', { id: 'EVT-01JAB3C4D5E6F7G8H9J0K1M2N3' }, '/0/id'],
    ['an empty idempotency key', { idempotency_key: '' }, '/0/idempotency_key'],
    ['an endless idempotency key', { idempotency_key: 'x'.repeat(256) }, '/0/idempotency_key'],
    ['an idempotency key with a line break', { idempotency_key: 'a\nb' }, '/0/idempotency_key'],
  ])('is refused for %s, reported once', async (_what, fields, pointer) => {
    const faults = await refused(post({ body: event(fields) }));
    expect(faults.map((fault) => fault.pointer)).toEqual([pointer]);
  });
});

describe('a type', () => {
  it('outside the catalogue is refused with the nearest known one', async () => {
    const [fault] = await refused(post({ body: event({ type: 'invoice.finalised' }) }));
    expect(fault).toMatchObject({ pointer: '/0/type', code: 'unknown_event_type' });
    expect(fault!.detail).toContain('invoice.finalized');
  });

  it('unlike any other is refused with the nearest known one and the setting that adds types', async () => {
    const [fault] = await refused(post({ body: event({ type: 'order.created' }) }));
    expect(fault).toMatchObject({ pointer: '/0/type', code: 'unknown_event_type' });
    expect(fault!.detail).toBe(
      'is not a known event type; the closest known type is task.created. ' +
        'An operator can add types with the setting POSTHORN_CATALOGUE',
    );
  });

  it.each(['webhook.delivery_failed', 'webhook.verification_failed', 'webhook.disabled', 'webhook.anything'])(
    '%s belongs to the service and is refused',
    async (type) => {
      const faults = await refused(post({ body: event({ type }) }));
      expect(faults).toMatchObject([{ pointer: '/0/type', code: 'reserved_type' }]);
    },
  );

  it('of the catalogue is recorded with its sample, for every type', async () => {
    const { body } = await sendRequest(`${service.publicUrl}/v1/event-types`, { token });
    const own = body.data.filter(({ type }: { type: string }) => !type.startsWith('webhook.'));
    const events = own.map(({ type, sample }: { type: string; sample: object }) =>
      event({ type, payload: sample }),
    );
    expect(events.length).toBeGreaterThanOrEqual(28);
    expect(await recorded(post({ body: events }))).toHaveLength(events.length);
  });
});

describe('a payload', () => {
  const run = { service_line_id: 'LIN-1', duration_ms: 1200, tokens_used: 30, outcome: 'success' };
  const completed = (payload: unknown) => post({ body: event({ type: 'agent.run.completed', payload }) });

  it('must match the schema of its type', async () => {
    expect(await recorded(completed(run))).toHaveLength(1);
    expect(await refused(completed({ ...run, duration_ms: '1200' }))).toMatchObject([
      { pointer: '/0/payload/duration_ms', code: 'wrong_type' },
    ]);
    const { outcome: _, ...withoutOutcome } = run;
    expect(await refused(completed(withoutOutcome))).toMatchObject([
      { pointer: '/0/payload/outcome', code: 'required' },
    ]);
  });

  it('can have fields beyond the schema', async () => {
    const [one] = await recorded(completed({ ...run, cost: { amount: '0.03', currency: 'EUR' }, tags: [] }));
    const { body } = await sendRequest(`${service.publicUrl}/v1/events/${one!.id}`, { token });
    expect(body.data.payload).toEqual({ ...run, cost: { amount: '0.03', currency: 'EUR' }, tags: [] });
  });

  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  const withPayload = (payload: string) =>
    postText(JSON.stringify(event({ payload: 0 })).replace('"payload":0', `"payload":${payload}`));

  it.each([
    ['a NUL in a value', '{"a":"x\\u0000y"}', '/0/payload/a'],
    ['a NUL in a key', '{"a\\u0000":1}', '/0/payload'],
    ['half of a surrogate pair', '{"a":["\\ud800"]}', '/0/payload/a/0'],
    ['the other half', '{"a":{"b/c":"\\udc00x"}}', '/0/payload/a/b~1c'],
  ])('with %s is 422, not 500', async (_what, payload, pointer) => {
    expect(await refused(withPayload(payload))).toMatchObject([{ pointer, code: 'invalid_text' }]);
  });

  it('that is nested too deeply is 422, not 500', async () => {
    for (const depth of [200, 20_000]) {
      expect(await refused(withPayload(`{"a":${nested(depth)}}`))).toMatchObject([{ code: 'too_deep' }]);
    }
    expect(await recorded(withPayload(`{"a":${nested(50)}}`))).toHaveLength(1);
  });

  it.each([
    ['a NUL', '{"a":"\\u0000","a":1}'],
    ['half of a surrogate pair', '{"a":"\\ud800","a":1}'],
    ['the other half', '{"a":"\\ud834\\udd1e\\udd1e","a":1}'],
    ['a nesting without end', `{"a":${nested(50_000)},"a":1}`],
  ])('that hides %s behind a duplicate key is 422, not 500', async (_what, payload) => {
    expect(await refused(withPayload(payload))).toMatchObject([{ code: 'invalid_text' }]);
  });

  it('that cannot be stored does not fail the requests recorded with it', async () => {
    const responses = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        index % 4 === 3 ? withPayload(`{"a":${nested(50_000)},"a":1}`) : post({ body: event() }),
      ),
    );
    const statuses = responses.map(({ status }) => status);
    expect(statuses).toEqual(Array.from({ length: 12 }, (_, index) => (index % 4 === 3 ? 422 : 201)));
  });

  it('can have any other text: emoji, escapes, empty keys, __proto__', async () => {
    const payload = '{"":"𝄞","__proto__":{"x":1},"constructor":"\\ud834\\udd1e","~/":"\\u0001"}';
    const [one] = await recorded(withPayload(payload));
    const { text } = await sendRequest(`${service.publicUrl}/v1/events/${one!.id}`, { token });
    expect(text).toContain(`"payload":${payload},`);
  });
});

describe('an idempotency_key', () => {
  let keys = 0;
  const freshKey = () => {
    keys += 1;
    return `key-${keys}`;
  };

  it('sent again returns the first event and records nothing', async () => {
    const idempotency_key = freshKey();
    const subject = freshSubject();
    const [first] = await recorded(post({ body: event({ idempotency_key, subject }) }));
    const [again] = await recorded(post({ body: event({ idempotency_key, subject, type: 'task.created' }) }));
    expect(again).toEqual(first);
    expect(await read(`subject_id=${subject.id}`)).toMatchObject([{ id: first!.id, type: 'invoice.paid' }]);
  });

  it('twice in one request records one event and returns it twice', async () => {
    const idempotency_key = freshKey();
    const subject = freshSubject();
    const [a, b, c] = await recorded(
      post({
        body: [event({ idempotency_key, subject }), event({ subject }), event({ idempotency_key, subject })],
      }),
    );
    expect(c).toEqual(a);
    expect(b!.id).not.toBe(a!.id);
    expect(await read(`subject_id=${subject.id}`)).toHaveLength(2);
  });

  it('next to new events in one request does not affect those', async () => {
    const idempotency_key = freshKey();
    const [known] = await recorded(post({ body: event({ idempotency_key }) }));
    const returned = await recorded(post({ body: [event(), event({ idempotency_key }), event()] }));
    expect(returned[1]).toEqual(known);
    expect(new Set(returned.map(({ id }) => id)).size).toBe(3);
  });

  it('belongs to its organization', async () => {
    const idempotency_key = freshKey();
    const [ours] = await recorded(post({ body: event({ idempotency_key }) }));
    const [theirs] = await recorded(post({ body: event({ idempotency_key, organization_id: 'ORG-other' }) }));
    expect(theirs!.id).not.toBe(ours!.id);
  });

  it('is exact: case and white space make another key', async () => {
    const ids = new Set<string>();
    for (const idempotency_key of ['Key A', 'key A', 'Key A ', 'Key  A'])
      ids.add((await recorded(post({ body: event({ idempotency_key }) })))[0]!.id);
    expect(ids.size).toBe(4);
  });

  it('sent many times at once records one event', async () => {
    const idempotency_key = freshKey();
    const subject = freshSubject();
    const responses = await Promise.all(
      Array.from({ length: 30 }, () => recorded(post({ body: event({ idempotency_key, subject }) }))),
    );
    expect(new Set(responses.map(([one]) => one!.id)).size).toBe(1);
    expect(await read(`subject_id=${subject.id}`)).toHaveLength(1);
  });

  it('in batches that overlap in opposite orders neither deadlocks nor records twice', async () => {
    const batch = Array.from({ length: 20 }, freshKey);
    const subject = freshSubject();
    const responses = await Promise.all(
      Array.from({ length: 12 }, (_, index) => {
        const ordered = index % 2 === 0 ? batch : batch.toReversed();
        return recorded(
          post({ body: ordered.map((idempotency_key) => event({ idempotency_key, subject })) }),
        );
      }),
    );
    for (const [index, response] of responses.entries()) {
      const ids = response.map(({ id }) => id);
      expect(index % 2 === 0 ? ids : ids.toReversed()).toEqual(responses[0]!.map(({ id }) => id));
    }
    expect(await read(`subject_id=${subject.id}`)).toHaveLength(20);
  });

  it('is released if its request is refused', async () => {
    const idempotency_key = freshKey();
    await refused(post({ body: [event({ idempotency_key }), event({ type: 'no.such' })] }));
    const subject = freshSubject();
    const [one] = await recorded(post({ body: event({ idempotency_key, subject }) }));
    expect(await read(`subject_id=${subject.id}`)).toMatchObject([{ id: one!.id }]);
  });

  it('can be used again after 24 h', async () => {
    const idempotency_key = freshKey();
    const [first] = await recorded(post({ body: event({ idempotency_key }) }));
    const older = async (interval: string) =>
      service.database.query({
        text: 'update posthorn.event_keys set created_at = now() - $2::interval where key = $1',
        values: [idempotency_key, interval],
      });
    await older('23 hours 59 minutes');
    expect((await recorded(post({ body: event({ idempotency_key }) })))[0]!.id).toBe(first!.id);
    await older('24 hours 1 second');
    expect((await recorded(post({ body: event({ idempotency_key }) })))[0]!.id).not.toBe(first!.id);
  });
});

describe('concurrent requests', () => {
  it('share a few transactions', async () => {
    const requests = 60;
    const holder = new pg.Client({ connectionString: service.databaseUrl });
    await holder.connect();
    let arrived = 0;
    const allArrived = new Promise<void>((resolve) => {
      const count = () => {
        arrived += 1;
        if (arrived < requests) return;
        unsubscribe('http.server.request.start', count);
        resolve();
      };
      subscribe('http.server.request.start', count);
    });
    await holder.query('begin; lock table posthorn.events in access exclusive mode');
    const responses = Array.from({ length: requests }, () => recorded(post({ body: [event(), event()] })));
    await allArrived;
    await holder.query('rollback');
    await holder.end();
    // The ids of one transaction share their time and the first of their random characters.
    const transactions = new Set((await Promise.all(responses)).flat().map(({ id }) => id.slice(0, 22)));
    expect(transactions.size).toBeLessThanOrEqual(6);
  });

  it('each get the ids of their own events', async () => {
    const responses = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const subject = { type: 'task', id: `TSK-mine-${index}` };
        const ids = await recorded(post({ body: [event({ subject }), event({ subject })] }));
        return { subject, ids: ids.map(({ id }) => id) };
      }),
    );
    for (const { subject, ids } of responses) {
      const listed = await read(`subject_id=${subject.id}&order=asc`);
      expect(listed.map(({ id }: Recorded) => id)).toEqual(ids);
    }
  });
});
