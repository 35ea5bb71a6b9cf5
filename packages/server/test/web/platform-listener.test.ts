import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/settings/config.js';
import { event, record, sendRequest } from '../support/client.js';
import {
  makeToken,
  platformToken,
  sharedService,
  startTestService,
  type TestService,
} from '../support/service.js';
import { eventually } from '../support/tenant.js';

describe('the platform listener', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });

  it('counts what it records in /metrics, in the Prometheus format', async () => {
    const metrics = () => sendRequest(`${service.platformUrl}/metrics`, { token: platformToken });
    const recordedSoFar = async () =>
      Number(/^posthorn_events_recorded_total (\d+)$/m.exec((await metrics()).text)?.[1]);
    const before = await recordedSoFar();
    await record(service, event(), event(), event());
    expect(await recordedSoFar()).toBe(before + 3);
    expect((await metrics()).headers.get('content-type')).toMatch(/^text\/plain/);
  });

  it('counts requests by route and never by the requested path', async () => {
    await sendRequest(`${service.publicUrl}/v1/events/EVT-secret-id`, { token: 'x' });
    await sendRequest(`${service.publicUrl}/some/unknown/path`);
    const { text } = await sendRequest(`${service.platformUrl}/metrics`, { token: platformToken });
    expect(text).toContain('route="/v1/events/:event_id"');
    expect(text).toContain('route="unknown"');
    expect(text).not.toContain('EVT-secret-id');
    expect(text).not.toContain('some/unknown');
  });

  it('reports health without a token: {status: "ok"} and {status: "ready"}', async () => {
    for (const url of [service.publicUrl, service.platformUrl]) {
      expect((await sendRequest(`${url}/healthz`)).body).toEqual({ status: 'ok' });
      expect((await sendRequest(`${url}/readyz`)).body).toEqual({ status: 'ready' });
    }
  });

  it.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'responds to %s on /platform/events with 405',
    async (method) => {
      const { status, headers } = await sendRequest(`${service.platformUrl}/platform/events`, { method });
      expect([status, headers.get('allow')]).toEqual([405, 'POST']);
    },
  );

  it('has none of the public API, and says where that is', async () => {
    const { status, body } = await sendRequest(`${service.platformUrl}/v1/events?organization_id=ORG-acme`, {
      token: await makeToken(service.database),
    });
    expect([status, body.detail]).toEqual([
      404,
      `Nothing exists at this path. This is the platform listener. The public API is at ${service.publicUrl}.`,
    ]);
  });
});

describe('the public listener', () => {
  it.each(['/platform/events', '/platform/portal-sessions', '/platform/invoices/INV-1/pay'])(
    'has no %s, and says which listener does, but not its address',
    async (path) => {
      const service = await sharedService();
      const { status, body } = await sendRequest(`${service.publicUrl}${path}`, { method: 'POST', body: {} });
      expect([status, body.code, body.detail]).toEqual([
        404,
        'not_found',
        'Nothing exists at this path. This is the public listener. The platform API is on the platform listener ' +
          '(POSTHORN_PLATFORM_PORT, 7401 by default).',
      ]);
    },
  );
});

describe('types added by POSTHORN_CATALOGUE', () => {
  const further = {
    type: 'parcel.sent',
    description: 'A parcel left the house.',
    schema: {
      type: 'object',
      properties: { weight_g: { type: 'integer', minimum: 1 }, parts: { $ref: '#/$defs/parts' } },
      required: ['weight_g'],
      $defs: { parts: { type: 'array', items: { $ref: '#/$defs/parts' }, uniqueItems: true } },
    },
    sample: { weight_g: 250 },
  };
  let directory: string;
  let service: TestService;

  const fileWith = async (content: string) => {
    const file = join(directory, 'catalogue.json');
    await writeFile(file, content);
    return file;
  };

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'posthorn-catalogue-'));
    service = await startTestService({ POSTHORN_CATALOGUE: await fileWith(JSON.stringify([further])) });
  });

  afterAll(() => rm(directory, { recursive: true }));

  const post = (fields: Record<string, unknown>) =>
    sendRequest(`${service.platformUrl}/platform/events`, {
      ...{ method: 'POST', token: platformToken, body: event({ type: 'parcel.sent', ...fields }) },
    });

  it('can be recorded and must match their schema', async () => {
    expect((await post({ payload: { weight_g: 1, more: true } })).status).toBe(201);
    const { status, body } = await post({ payload: { weight_g: 0 } });
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ pointer: '/0/payload/weight_g', code: 'too_small' }]);
  });

  it('are listed by GET /v1/event-types after the others', async () => {
    const token = await makeToken(service.database);
    const { body } = await sendRequest(`${service.publicUrl}/v1/event-types`, { token });
    expect(body.data.at(-1)).toEqual({ ...further, version: 1 });
  });

  it('are suggested for a misspelling', async () => {
    const { body } = await post({ type: 'parcel.sant' });
    expect(body.errors[0].detail).toContain('parcel.sent');
  });

  it('cannot follow the nesting of a payload without end', async () => {
    const parts = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const raw = JSON.stringify(event({ type: 'parcel.sent', payload: { weight_g: 1, parts: 0 } }));
    const { status, body } = await sendRequest(`${service.platformUrl}/platform/events`, {
      ...{ method: 'POST', token: platformToken, headers: { 'content-type': 'application/json' } },
      raw: raw.replace('"parts":0', `"parts":${parts}`),
    });
    expect([status, body.errors[0].code]).toEqual([422, 'too_deep']);
  });

  it.each<[string, string | undefined, RegExp]>([
    ['a file that is not there', undefined, /ENOENT|no such file/],
    ['a file that is not JSON', '[{', /JSON/],
    ['a file that is no array', '{}', /not an array/],
    ['an entry without a sample', JSON.stringify([{ ...further, sample: undefined }]), /entry 0/],
    ['a name that is none', JSON.stringify([{ ...further, type: 'Parcel' }]), /Parcel/],
    [
      'a built-in type that refuses what its lifecycle records',
      JSON.stringify([{ ...further, type: 'invoice.paid' }]),
      /invoice\.paid.*refuses what its lifecycle records: \/weight_g/,
    ],
    ["the service's own domain", JSON.stringify([{ ...further, type: 'webhook.sent' }]), /webhook/],
    ['the same type twice', JSON.stringify([further, further]), /already/],
    [
      'a sample that is no text',
      JSON.stringify([{ ...further, sample: { weight_g: 1, id: '\ud800' } }]),
      /parcel\.sent.*\/id.*unpaired surrogate/,
    ],
    ['a sample that does not fit', JSON.stringify([{ ...further, sample: {} }]), /parcel\.sent.*weight_g/],
    [
      'a schema that is none',
      JSON.stringify([{ ...further, schema: { type: 'parcel' } }]),
      /of parcel\.sent.*type/,
    ],
    [
      'a schema with a typo',
      JSON.stringify([{ ...further, schema: { requierd: [] } }]),
      /of parcel\.sent.*requierd/,
    ],
  ])('prevent the start with one clear line for %s', async (_what, content, pattern) => {
    const file = content === undefined ? '/no/such/file.json' : await fileWith(content);
    const failure = await startTestService({
      DATABASE_URL: service.databaseUrl,
      POSTHORN_CATALOGUE: file,
    }).catch((error) => error);
    expect(failure).toBeInstanceOf(ConfigError);
    expect(failure.message).toMatch(/^POSTHORN_CATALOGUE: /);
    expect(failure.message).toContain(file);
    expect(failure.message).toContain('Expected a JSON file');
    expect(failure.message).toMatch(pattern);
    expect(failure.message).not.toContain('\n');
  });
});

describe('ages in /metrics', () => {
  let service: TestService;
  beforeAll(async () => {
    // Without the role that would take what waits.
    service = await startTestService({ POSTHORN_ROLES: 'platform' });
  });

  const ageOf = async (name: string) => {
    const { text } = await sendRequest(`${service.platformUrl}/metrics`, { token: platformToken });
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  };

  it('report how long the oldest due delivery has waited', async () => {
    const name = 'posthorn_oldest_due_delivery_age_seconds{condition="healthy"}';
    expect(await ageOf(name)).toBe(0);
    await record(service, event());
    await service.database.query({
      text: `
  insert into posthorn.deliveries
         (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at, due_at)
  select organization_id, 'WHK-1', created_at, 'WDLV-1', id, type, created_at, now() - interval '1 hour'
    from posthorn.events`,
    });
    expect(await ageOf(name)).toBeGreaterThanOrEqual(3_600);

    // The webhook fails: its late deliveries do not count as those of healthy webhooks.
    await service.database.query({
      text: `
  insert into posthorn.webhooks (organization_id, id, url, status, event_types, created_at, secret)
  select organization_id, 'WHK-1', 'https://receiver.test/', 'active', '{*}', now(), '' from posthorn.events;
  insert into posthorn.webhook_health (organization_id, webhook_id, failing_since)
  select organization_id, 'WHK-1', now() from posthorn.events`,
    });
    expect(await ageOf(name)).toBe(0);
    expect(await ageOf(name.replace('healthy', 'failing'))).toBeGreaterThanOrEqual(3_600);
    const counts = ['active', 'failing', 'unverified', 'disabled'].map(
      (one) => `posthorn_webhooks{status="${one}"}`,
    );
    expect(await Promise.all(counts.map(ageOf))).toEqual([0, 1, 0, 0]);
  });

  it('report how far a recording transaction delays ascending readers', async () => {
    const name = 'posthorn_event_horizon_age_seconds';
    const client = new pg.Client({ connectionString: service.databaseUrl });
    await client.connect();
    await client.query('begin');
    await client.query('select posthorn.announce_recording($1)', [['ORG-acme']]);
    await eventually(
      () => ageOf(name),
      (age) => age >= 1,
    );
    await client.query('rollback');
    await eventually(
      () => ageOf(name),
      (age) => age < 1,
    );
    await client.end();
  });
});
