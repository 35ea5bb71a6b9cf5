import { beforeAll, describe, expect, it } from 'vitest';
import { type ApiResponse, event, record, sendRequest } from '../support/client.js';
import { makeToken, platformToken, startTestService, type TestService } from '../support/service.js';

interface Recorded {
  id: string;
  created_at: string;
}

let service: TestService;
let token: string;

beforeAll(async () => {
  service = await startTestService();
  token = await makeToken(service.database);
});

function list(query: Record<string, string | number> = {}, bearer = token): Promise<ApiResponse> {
  const search = new URLSearchParams({ organization_id: 'ORG-acme' });
  for (const [name, value] of Object.entries(query)) search.set(name, String(value));
  return sendRequest(`${service.publicUrl}/v1/events?${search}`, { token: bearer });
}

async function listIds(query: Record<string, string | number> = {}, bearer = token): Promise<string[]> {
  const { status, body, text } = await list(query, bearer);
  expect(status, text).toBe(200);
  return body.data.map((one: Recorded) => one.id);
}

const idsOf = (recorded: readonly Recorded[]) => recorded.map(({ id }) => id);

let subjects = 0;
/** A subject of the calling test's own, so that tests do not see each other's events. */
function freshSubject(type = 'invoice'): { type: string; id: string } {
  subjects += 1;
  return { type, id: `INV-own-${subjects}` };
}

/** Events of one subject, each in a millisecond of its own. */
async function recordApart(count: number, subject: { type: string; id: string }): Promise<Recorded[]> {
  const recorded: Recorded[] = [];
  while (recorded.length < count) {
    const [one] = await record(service, event({ subject }));
    recorded.push(one!);
    await service.database.query({ text: 'select pg_sleep(0.002)' });
  }
  return recorded;
}

const at = (recorded: Recorded, ms = 0) => new Date(Date.parse(recorded.created_at) + ms).toISOString();

describe('an event in the list', () => {
  it('has exactly the fields of the interface, as they were recorded', async () => {
    const subject = freshSubject('service_line');
    const payload = {
      previous_status: 'draft',
      new_status: 'active',
      execution_model: 'managed',
      product_line: 'support',
    };
    const [recorded] = await record(
      service,
      event({
        type: 'service_line.activated',
        actor: { type: 'agent', id: 'AGT-7' },
        workspace_id: 'WS-9',
        subject,
        payload,
      }),
    );
    const { body } = await list({ subject_id: subject.id });
    expect(body.data).toEqual([
      {
        id: recorded!.id,
        type: 'service_line.activated',
        organization_id: 'ORG-acme',
        workspace_id: 'WS-9',
        actor: { type: 'agent', id: 'AGT-7' },
        subject,
        payload,
        created_at: recorded!.created_at,
      },
    ]);
    expect(recorded!.id).toMatch(/^EVT-[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
    expect(recorded!.created_at).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
  });

  it('has a null workspace_id if it belongs to the whole organization', async () => {
    const subject = freshSubject();
    await record(service, event({ subject, workspace_id: null }));
    const { workspace_id: _, ...withoutWorkspace } = event({ subject });
    await record(service, withoutWorkspace);
    const { body } = await list({ subject_id: subject.id });
    expect(body.data.map((one: { workspace_id: unknown }) => one.workspace_id)).toEqual([null, null]);
  });
});

describe('each filter of GET /v1/events', () => {
  const marks = {
    workspace_id: 'WS-filter',
    type: 'capacity.gap_detected',
    subject_type: 'capacity_plan',
    subject_id: 'CAP-filter',
    actor_id: 'USR-filter',
  };
  let marked: string;

  beforeAll(async () => {
    const [one] = await record(
      service,
      event({
        workspace_id: marks.workspace_id,
        type: marks.type,
        subject: { type: marks.subject_type, id: marks.subject_id },
        actor: { type: 'user', id: marks.actor_id },
      }),
      event(),
    );
    marked = one!.id;
  });

  it.each(Object.entries(marks))('%s alone returns only exact matches', async (name, value) => {
    expect(await listIds({ [name]: value })).toEqual([marked]);
    expect(await listIds({ [name]: value.slice(0, -1) })).toEqual([]);
    expect(await listIds({ [name]: value.toUpperCase() })).toEqual(
      value.toUpperCase() === value ? [marked] : [],
    );
  });

  it('combines with all others: every filter must match', async () => {
    expect(await listIds(marks)).toEqual([marked]);
    for (const name of Object.keys(marks)) {
      expect(await listIds({ ...marks, [name]: 'nobody' }), name).toEqual([]);
    }
  });

  it.each([...Object.keys(marks)])('%s with an unknown value returns an empty list', async (name) => {
    for (const value of ['never.seen', 'x'.repeat(3_000), "'; drop table x; --", '日本語 %_\\', ' ']) {
      const { status, body } = await list({ [name]: value });
      expect(status).toBe(200);
      expect(body).toEqual({ data: [], meta: { cursor: null, has_more: false } });
    }
  });

  it('works together with a time range, an order and a limit', async () => {
    const subject = freshSubject();
    const [first, second, third, fourth] = await recordApart(4, subject);
    const query = { subject_id: subject.id, workspace_id: 'WS-1', type: 'invoice.paid', actor_id: 'USR-ada' };
    const range = { from: at(second!), to: at(fourth!) };
    expect(await listIds({ ...query, ...range })).toEqual([fourth!.id, third!.id, second!.id]);
    expect(await listIds({ ...query, ...range, order: 'asc', limit: 2 })).toEqual([second!.id, third!.id]);
    expect(await listIds({ ...query, to: at(first!) })).toEqual([first!.id]);
  });
});

describe('from and to', () => {
  const subject = { type: 'run', id: 'RUN-range' };
  let events: Recorded[];

  beforeAll(async () => {
    events = await recordApart(3, subject);
  });

  const ranged = (range: Record<string, string>) => listIds({ subject_id: subject.id, ...range });

  it('are inclusive, to the millisecond', async () => {
    const [first, second, third] = events as [Recorded, Recorded, Recorded];
    expect(await ranged({ from: at(second), to: at(second) })).toEqual([second.id]);
    expect(await ranged({ from: at(second) })).toEqual([third.id, second.id]);
    expect(await ranged({ from: at(second, 1) })).toEqual([third.id]);
    expect(await ranged({ to: at(second) })).toEqual([second.id, first.id]);
    expect(await ranged({ to: at(second, -1) })).toEqual([first.id]);
  });

  it('accept offsets', async () => {
    const [, second] = events as [Recorded, Recorded];
    const shifted = (hours: number) =>
      at(second, hours * 3_600_000).replace('Z', `${hours < 0 ? '-' : '+'}0${Math.abs(hours)}:00`);
    for (const hours of [-7, 5]) {
      expect(await ranged({ from: shifted(hours), to: shifted(hours) })).toEqual([second.id]);
    }
  });

  it('accept times without a fraction, with more digits than milliseconds, and in lower case', async () => {
    const [first] = events as [Recorded];
    const second = first.created_at.slice(0, 19);
    expect(await ranged({ from: `${second}Z` })).toHaveLength(3);
    expect(await ranged({ to: first.created_at.replace('Z', '999Z') })).toEqual([first.id]);
    expect(await ranged({ from: at(first).toLowerCase() })).toHaveLength(3);
  });

  it('treat a plain date as a whole day in UTC: its first millisecond for from, its last for to', async () => {
    const days = { type: 'run', id: 'RUN-days' };
    const moment = async (time: string) => {
      const [one] = await record(service, event({ subject: days }));
      // No test can wait for midnight, so the row is moved there.
      await service.database.query({
        text: `select posthorn.ensure_partition('events', $1)`,
        values: [time.slice(0, 10)],
      });
      await service.database.query({
        text: `update posthorn.events set created_at = $2 where id = $1`,
        values: [one!.id, new Date(time)],
      });
      return one!.id;
    };
    const today = new Date().toISOString().slice(0, 10);
    const dayBefore = new Date(Date.parse(today) - 1).toISOString();
    const before = await moment(dayBefore);
    const start = await moment(`${today}T00:00:00.000Z`);
    const end = await moment(`${today}T23:59:59.999Z`);
    const after = await moment(new Date(Date.parse(today) + 86_400_000).toISOString());
    const subject_id = days.id;
    expect(await listIds({ subject_id, from: today, to: today })).toEqual([end, start]);
    expect(await listIds({ subject_id, from: today })).toEqual([after, end, start]);
    expect(await listIds({ subject_id, to: today })).toEqual([end, start, before]);
  });

  it('can be any time', async () => {
    expect(await ranged({ from: '0000-01-01', to: '9999-12-31' })).toHaveLength(3);
    expect(await ranged({ to: '0000-01-01T00:00:00+23:59' })).toEqual([]);
    expect(await ranged({ from: '9999-12-31T23:59:59-23:59' })).toEqual([]);
    expect(await ranged({ to: '1969-12-31', order: 'asc' })).toEqual([]);
  });

  it('can be equal but not reversed', async () => {
    const moment = '2026-11-01T00:00:00Z';
    expect((await list({ from: moment, to: moment })).status).toBe(200);
    const { status, body } = await list({ from: '2026-11-01T00:00:00.001Z', to: moment });
    expect(status).toBe(400);
    expect(body.errors).toMatchObject([{ parameter: 'from', code: 'from_after_to' }]);
  });

  it.each([
    ['no offset', '2026-11-15T09:30:00'],
    ['a day that does not exist', '2026-02-30'],
    ['an hour that does not exist', '2026-11-15T24:00:00Z'],
    ['a Unix time', '1731662000'],
    ['words', 'yesterday'],
    ['nothing', ''],
    ['a space for the T', '2026-11-15 09:30:00Z'],
    ['a year alone', '2026'],
  ])('refuse %s', async (_what, text) => {
    for (const parameter of ['from', 'to']) {
      const { status, body } = await list({ [parameter]: text });
      expect(status).toBe(400);
      expect(body.code).toBe('invalid_parameter');
      expect(body.errors.map((fault: { parameter: string }) => fault.parameter)).toEqual([parameter]);
    }
  });

  it('refuse an offset whose + is not encoded, with a hint', async () => {
    const path = '/v1/events?organization_id=ORG-acme&from=2026-11-15T09:30:00+01:00';
    const { status, body } = await sendRequest(`${service.publicUrl}${path}`, { token });
    expect(status).toBe(400);
    expect(body.errors).toEqual([
      {
        parameter: 'from',
        code: 'unreadable_time',
        detail:
          'must be a date (2026-11-15) or a time with Z or an offset (2026-11-15T09:30:00Z); ' +
          'in a URL, write the + of the offset as %2B',
      },
    ]);
  });
});

describe('limit', () => {
  const subject = { type: 'run', id: 'RUN-limit' };
  let ids: string[];

  beforeAll(async () => {
    ids = idsOf(await record(service, ...Array.from({ length: 101 }, () => event({ subject })))).reverse();
  });

  it('is 25 by default', async () => {
    expect(await listIds({ subject_id: subject.id })).toEqual(ids.slice(0, 25));
  });

  it.each([1, 26, 100])('%i returns that many', async (limit) => {
    expect(await listIds({ subject_id: subject.id, limit })).toEqual(ids.slice(0, limit));
  });

  it.each(['0', '101', '-1', '1.5', '1e1', 'ten', '', ' 5', '99999999999999999999'])(
    '"%s" is refused, not clamped',
    async (limit) => {
      const { status, body } = await list({ limit });
      expect(status).toBe(400);
      expect(body.errors).toMatchObject([{ parameter: 'limit' }]);
    },
  );
});

describe('order', () => {
  it('is newest first by default and with desc, oldest first with asc', async () => {
    const subject = freshSubject();
    const ids = idsOf(await recordApart(3, subject));
    expect(await listIds({ subject_id: subject.id })).toEqual(ids.toReversed());
    expect(await listIds({ subject_id: subject.id, order: 'desc' })).toEqual(ids.toReversed());
    expect(await listIds({ subject_id: subject.id, order: 'asc' })).toEqual(ids);
  });

  it('is by id among events of one millisecond', async () => {
    const subject = freshSubject();
    const recorded = await record(service, ...Array.from({ length: 5 }, () => event({ subject })));
    expect(new Set(recorded.map(({ created_at }) => created_at)).size).toBe(1);
    expect(await listIds({ subject_id: subject.id, order: 'asc' })).toEqual(idsOf(recorded).toSorted());
  });

  it.each(['ASC', 'newest', ''])('"%s" is refused', async (order) => {
    const { status, body } = await list({ order });
    expect(status).toBe(400);
    expect(body.errors).toMatchObject([{ parameter: 'order' }]);
  });
});

describe('has_more', () => {
  it.each(['desc', 'asc'])('is exact at the boundary with order %s', async (order) => {
    const subject = freshSubject();
    await record(service, ...Array.from({ length: 4 }, () => event({ subject })));
    const more = async (limit: number, cursor = {}) =>
      (await list({ subject_id: subject.id, order, limit, ...cursor })).body.meta.has_more;
    expect(await more(3)).toBe(true);
    expect(await more(4)).toBe(false);
    expect(await more(5)).toBe(false);
    const half = await list({ subject_id: subject.id, order, limit: 2 });
    expect(half.body.meta.has_more).toBe(true);
    expect(await more(2, { cursor: half.body.meta.cursor })).toBe(false);
    expect(await more(1, { cursor: half.body.meta.cursor })).toBe(true);
  });
});

describe('the cursor', () => {
  async function follow(query: Record<string, string | number>, limits: number[]): Promise<string[]> {
    const seen: string[] = [];
    let cursor: string | undefined;
    for (let page = 0; ; page += 1) {
      const limit = limits[page % limits.length]!;
      const { body } = await list({ ...query, limit, ...(cursor !== undefined && { cursor }) });
      seen.push(...idsOf(body.data));
      if (!body.meta.has_more) return seen;
      cursor = body.meta.cursor;
    }
  }

  it.each(['desc', 'asc'])('visits every event once with order %s', async (order) => {
    const subject = freshSubject();
    const ids = idsOf(await record(service, ...Array.from({ length: 60 }, () => event({ subject }))));
    const expected = order === 'asc' ? ids : ids.toReversed();
    expect(await follow({ subject_id: subject.id, order }, [25])).toEqual(expected);
  });

  it('is not bound to the limit', async () => {
    const subject = freshSubject();
    const ids = idsOf(await record(service, ...Array.from({ length: 20 }, () => event({ subject }))));
    expect(await follow({ subject_id: subject.id }, [1, 7, 3, 100])).toEqual(ids.toReversed());
  });

  it('skips and repeats nothing when events are recorded between two pages', async () => {
    const subject = freshSubject();
    const ids = idsOf(await recordApart(6, subject));
    const first = await list({ subject_id: subject.id, limit: 3 });
    await recordApart(2, subject);
    const second = await list({ subject_id: subject.id, limit: 3, cursor: first.body.meta.cursor });
    expect([...idsOf(first.body.data), ...idsOf(second.body.data)]).toEqual(ids.toReversed());
    expect(second.body.meta.has_more).toBe(false);
  });

  it('returns the same page every time', async () => {
    const subject = freshSubject();
    await record(service, ...Array.from({ length: 4 }, () => event({ subject })));
    const { body } = await list({ subject_id: subject.id, limit: 2 });
    const page = () => list({ subject_id: subject.id, limit: 2, cursor: body.meta.cursor });
    expect((await page()).text).toBe((await page()).text);
  });

  it('is null on an empty page with desc, even after the last event', async () => {
    const subject = freshSubject();
    expect((await list({ subject_id: subject.id })).body.meta).toEqual({ cursor: null, has_more: false });
    await record(service, event({ subject }));
    const { cursor } = (await list({ subject_id: subject.id })).body.meta;
    expect(cursor).toEqual(expect.any(String));
    const behind = await list({ subject_id: subject.id, cursor });
    expect(behind.body).toEqual({ data: [], meta: { cursor: null, has_more: false } });
  });

  it('is a string with asc on a stream without events, and later finds new events, once', async () => {
    const subject = freshSubject();
    const query = { subject_id: subject.id, order: 'asc' };
    const empty = await list(query);
    expect(empty.body).toEqual({ data: [], meta: { cursor: expect.any(String), has_more: false } });
    const [one] = await record(service, event({ subject }));
    const first = await list({ ...query, cursor: empty.body.meta.cursor });
    expect(idsOf(first.body.data)).toEqual([one!.id]);
    const nothing = await list({ ...query, cursor: first.body.meta.cursor });
    expect(nothing.body).toEqual({ data: [], meta: { cursor: expect.any(String), has_more: false } });
    const [two] = await record(service, event({ subject }));
    const second = await list({ ...query, cursor: nothing.body.meta.cursor });
    expect(idsOf(second.body.data)).toEqual([two!.id]);
  });

  it('works on a stream without any events', async () => {
    const newcomer = await makeToken(service.database, { organization_id: 'ORG-newcomer' });
    const query = { organization_id: 'ORG-newcomer', order: 'asc' };
    const empty = await list(query, newcomer);
    expect(empty.body).toEqual({ data: [], meta: { cursor: expect.any(String), has_more: false } });
    const [one] = await record(service, event({ organization_id: 'ORG-newcomer' }));
    expect(await listIds({ ...query, cursor: empty.body.meta.cursor }, newcomer)).toEqual([one!.id]);
  });

  describe('issued for other filters or another order', () => {
    const query: Record<string, string> = {
      workspace_id: 'WS-1',
      type: 'invoice.paid',
      subject_type: 'invoice',
      subject_id: 'INV-bound',
      actor_id: 'USR-ada',
      from: '2026-01-01',
      to: '2099-12-31',
      order: 'desc',
    };
    let cursor: string;

    beforeAll(async () => {
      const subject = { type: 'invoice', id: 'INV-bound' };
      await record(service, event({ subject }), event({ subject }));
      const { body } = await list({ ...query, limit: 1 });
      cursor = body.meta.cursor;
      expect((await list({ ...query, cursor })).status).toBe(200);
    });

    const refused = ({ status, body }: ApiResponse) => {
      expect(status).toBe(400);
      expect(body.code).toBe('invalid_cursor');
      expect(body.errors).toMatchObject([{ parameter: 'cursor', code: 'invalid_cursor' }]);
    };

    it.each([
      ['workspace_id', 'WS-2'],
      ['type', 'invoice.voided'],
      ['subject_type', 'run'],
      ['subject_id', 'INV-other'],
      ['actor_id', 'USR-bob'],
      ['from', '2026-01-02'],
      ['to', '2099-12-30'],
      ['order', 'asc'],
    ])('is refused if %s differs', async (name, value) => {
      refused(await list({ ...query, [name]: value, cursor }));
    });

    it.each(Object.keys(query).filter((name) => name !== 'order'))(
      'is refused if %s is left out',
      async (name) => {
        const { [name]: _, ...rest } = query;
        refused(await list({ ...rest, cursor }));
      },
    );

    it('is refused for another organization', async () => {
      const other = await makeToken(service.database, { organization_id: 'ORG-other' });
      refused(await list({ ...query, organization_id: 'ORG-other', cursor }, other));
    });

    it('is accepted if the same range and order are only spelled differently', async () => {
      const { order: _, ...rest } = query;
      const spelled = { ...rest, from: '2026-01-01T01:00:00+01:00', to: '2099-12-31T23:59:59.999Z', cursor };
      expect((await list(spelled)).status).toBe(200);
    });
  });

  it.each([
    ['made up', 'bm90LW91cnM'],
    ['empty', ''],
    ['no cursor at all', '%%%'],
    ['endless', 'A'.repeat(5_000)],
  ])('that is %s is refused as invalid_cursor', async (_what, cursor) => {
    const { status, body } = await list({ cursor });
    expect(status).toBe(400);
    expect(body.code).toBe('invalid_cursor');
  });

  it('with any character changed is refused', async () => {
    const subject = freshSubject();
    await record(service, event({ subject }));
    const { cursor } = (await list({ subject_id: subject.id })).body.meta as { cursor: string };
    for (let index = 0; index < cursor.length; index += 1) {
      const other = cursor[index] === 'A' ? 'B' : 'A';
      const mangled = cursor.slice(0, index) + other + cursor.slice(index + 1);
      const { status } = await list({ subject_id: subject.id, cursor: mangled });
      expect(status, `character ${index}`).toBe(400);
    }
  });
});

describe('a token bound to a workspace', () => {
  let bound: string;
  const mine = { type: 'run', id: 'RUN-bound' };

  beforeAll(async () => {
    bound = await makeToken(service.database, { workspace_id: 'WS-bound' });
  });

  it('sees only the events of its workspace, and none of the whole organization', async () => {
    const [own] = await record(
      service,
      event({ workspace_id: 'WS-bound', subject: mine }),
      event({ workspace_id: 'WS-1', subject: mine }),
      event({ workspace_id: null, subject: mine }),
    );
    expect(await listIds({}, bound)).toEqual([own!.id]);
    expect(await listIds({ workspace_id: 'WS-bound' }, bound)).toEqual([own!.id]);
    expect(await listIds({ subject_id: mine.id })).toHaveLength(3);
  });

  it('cannot see more with the cursor of another token', async () => {
    await record(service, event(), event());
    const { cursor } = (await list({ limit: 1 })).body.meta;
    const { status, body } = await list({ cursor }, bound);
    expect([status, body.code]).toEqual([400, 'invalid_cursor']);
  });
});

describe('a payload', () => {
  it('is returned byte for byte: key order, number spelling, white space inside', async () => {
    const payload =
      '{ "b": 1.10, "1": 12345678901234567890, "a": [1e400, 0.1000, -0], "b": "\\u00e9\\/", "é": "𝄞" }';
    const subject = freshSubject();
    const raw = JSON.stringify(event({ payload: 0, subject })).replace('"payload":0', `"payload":${payload}`);
    const { status, body, text } = await sendRequest(`${service.platformUrl}/platform/events`, {
      method: 'POST',
      token: platformToken,
      headers: { 'content-type': 'application/json' },
      raw,
    });
    expect(status, text).toBe(201);
    const { id } = body.data[0];
    const one = await sendRequest(`${service.publicUrl}/v1/events/${id}`, { token });
    expect(one.text).toContain(`"payload":${payload},"created_at"`);
    expect((await list({ subject_id: subject.id })).text).toContain(`"payload":${payload},"created_at"`);
  });
});
