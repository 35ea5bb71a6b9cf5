import { readFile } from 'node:fs/promises';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import type { EventType } from '../../src/catalogue/catalogue.js';
import { builtinTypes } from '../../src/catalogue/catalogue-file.js';
import { lifecycles } from '../../src/resources/resource-schema.js';
import { createResource } from '../../src/resources/resources.js';
import { event, sendRequest } from '../support/client.js';
import { actor } from '../support/lifecycle.js';
import { platformToken, startTestService } from '../support/service.js';
import { eventually, newTenant } from '../support/tenant.js';

const example = new URL('../../../../examples/freight/catalogue.json', import.meta.url);
const freight: { builtin: boolean; types: EventType[] } = JSON.parse(await readFile(example, 'utf8'));
const ownServiceTypes = builtinTypes().filter(({ type }) => type.startsWith('webhook.'));
const own = freight.types[0]!;

/** On their own service each, because a catalogue belongs to a whole platform. */
const start = async (env: Record<string, string> = {}) => {
  const service = await startTestService(env);
  const put = (body: unknown, query = '') =>
    sendRequest(`${service.platformUrl}/platform/event-types${query}`, {
      ...{ method: 'PUT', token: platformToken, body },
    });
  const read = async () =>
    (await sendRequest(`${service.platformUrl}/platform/event-types`, { token: platformToken })).body.data;
  const record = (fields: Record<string, unknown>) =>
    sendRequest(`${service.platformUrl}/platform/events`, {
      ...{ method: 'POST', token: platformToken, body: event(fields) },
    });
  return { service, put, read, record };
};

const names = (types: readonly { type: string }[]) => types.map(({ type }) => type);

describe('a platform with only its own types', async () => {
  const { service, record } = await start({ POSTHORN_CATALOGUE: example.pathname });
  const tenant = await newTenant(service);

  test('lists its types and webhook.*, each with a version', async () => {
    const listed = await tenant.data('GET', '/v1/event-types');
    expect(names(listed)).toEqual([...names(ownServiceTypes), ...names(freight.types)]);
    for (const { version } of listed) expect(version).toBe(1);
  });

  test('has no lifecycles: no route of them exists, with any method, and TypeScript cannot make a resource', async () => {
    for (const resource of Object.keys(lifecycles)) {
      for (const [method, path] of [
        ['POST', resource],
        ['PUT', resource],
        ['GET', `${resource}/X-1`],
      ] as const) {
        const url = `${service.platformUrl}/platform/${path}`;
        const { status, body } = await sendRequest(url, { method, token: platformToken });
        expect([method, path, status, body.code]).toEqual([method, path, 404, 'not_found']);
      }
    }
    const client = { query: (text: string, values: unknown[]) => service.database.query({ text, values }) };
    const made = createResource(client, 'tasks', { organization_id: 'ORG-a', actor, title: 'None' });
    await expect(made).rejects.toThrow('there are no lifecycles, because the built-in event types are off');
  });

  const built = names(builtinTypes()).filter((type) => !type.startsWith('webhook.'));
  const traces = new RegExp(
    `${built.join('|').replaceAll('.', '\\.')}|service.line|invoice|incident|lifecycle|\\b(INV|LIN|INC|RUN)-`,
    'gi',
  );

  test.each([
    ['publicUrl', '/'],
    ['publicUrl', '/openapi.json'],
    ['publicUrl', '/asyncapi.json'],
    ['publicUrl', '/v1/event-types'],
    ['platformUrl', '/openapi.json'],
    ['platformUrl', '/platform/event-types'],
  ] as const)('leaves no trace of a built-in type at %s%s', async (listener, path) => {
    const token = listener === 'publicUrl' ? tenant.token : platformToken;
    const { status, text } = await sendRequest(service[listener] + path, { token });
    expect(status).toBe(200);
    expect(text.match(traces)).toBe(null);
    if (!path.endsWith('openapi.json')) return;
    expect(text).toContain(own.type);
    const { valid, errors } = await new Validator().validate(JSON.parse(text));
    expect(valid, JSON.stringify(errors, null, 1)).toBe(true);
  });

  test('records its types over HTTP and SQL, and refuses built-in ones with a hint', async () => {
    expect((await record({ type: own.type, payload: own.sample })).status).toBe(201);
    const { body } = await record({ type: 'invoice.paid', payload: {} });
    expect(body.errors[0]).toMatchObject({ pointer: '/0/type', code: 'unknown_event_type' });
    const sql = (type: string) =>
      service.database.query({
        text: `select posthorn.record_event($1, 'ORG-a', '{"type":"user","id":"U"}', '{"type":"x","id":"1"}', '{}')`,
        values: [type],
      });
    await sql(own.type);
    await expect(sql('shipment.boked')).rejects.toMatchObject({ hint: expect.stringContaining(own.type) });
  });

  test('owns its catalogue by the file: the API refuses changes, dry runs included, until no node has the file', async () => {
    const second = await start({ DATABASE_URL: service.databaseUrl });
    expect(await second.read()).toMatchObject({ owner: 'file', builtin: false });
    for (const query of ['', '?dry_run=true'])
      expect((await second.put(freight, query)).body).toMatchObject({
        status: 409,
        code: 'catalogue_from_file',
      });
    await service.stop();
    expect(await second.read()).toMatchObject({ owner: 'api', builtin: false });
    expect((await second.put(freight)).body.data).toEqual({
      added: [],
      changed: [],
      removed: [],
      webhooks: [],
    });
  });
});

describe('PUT /platform/event-types', async () => {
  const { service, put, read } = await start();
  const tenant = await newTenant(service);
  const without = (name: string): EventType => {
    const schema = JSON.parse(JSON.stringify(own.schema));
    delete schema.properties[name];
    return { ...own, schema };
  };

  test('takes back what GET returned as no change', async () => {
    const { owner, ...catalogue } = await read();
    expect(owner).toBe('api');
    expect((await put(catalogue)).body.data).toEqual({ added: [], changed: [], removed: [], webhooks: [] });
  });

  test('adds types that all nodes use without a restart, and a dry run changes nothing', async () => {
    const other = await start({ DATABASE_URL: service.databaseUrl });
    const added = { added: [own.type], changed: [], removed: [], webhooks: [] };
    expect((await put({ types: [own] }, '?dry_run=true')).body.data).toEqual(added);
    expect(names((await read()).types)).not.toContain(own.type);
    expect((await put({ types: [own] })).body.data).toEqual(added);
    const record = () => other.record({ type: own.type, payload: own.sample });
    expect(await eventually(record, ({ status }) => status === 201)).toBeDefined();
  });

  test('names what breaks, in which version, and each webhook that it breaks', async () => {
    await put({ types: [own] });
    const connect = async (event_types: string[]) => (await tenant.connect(200, { event_types })).webhook.id;
    const named = await connect([own.type]);
    const domain = await connect(['shipment.*']);
    const all = await connect(['*']);
    await connect(['invoice.paid']);
    const { version } = (await read()).types.at(-1);
    const { body } = await put({ types: [without('weight_kg')] });
    expect(body.data).toMatchObject({
      added: [],
      changed: [{ type: own.type, version: version + 1, breaking: ['weight_kg was removed.'] }],
      removed: [],
    });
    const affected = ({ webhooks }: { webhooks: { id: string }[] }) => webhooks.map(({ id }) => id).sort();
    expect(affected(body.data)).toEqual([named, domain, all].sort());
    const removal = (await put({ types: [] })).body.data;
    expect(removal).toMatchObject({ removed: [own.type] });
    expect(removal.webhooks).toEqual([{ id: named, organization_id: tenant.organization, type: own.type }]);
  });

  test('never uses a version twice, also after a removal, and takes another order of keys for no change', async () => {
    const versionNow = async () => (await read()).types.at(-1).version;
    await put({ types: [own] });
    const version = await versionNow();
    const { properties, ...rest } = own.schema as unknown as { properties: object };
    await put({ types: [{ ...own, schema: { properties, ...rest } }] });
    expect(await versionNow()).toBe(version);
    await put({ types: [{ ...own, description: 'Booked.' }] });
    expect(await versionNow()).toBe(version);
    await put({ types: [without('weight_kg')] });
    expect(await versionNow()).toBe(version + 1);
    await put({ types: [] });
    await put({ types: [own] });
    expect(await versionNow()).toBe(version + 2);
  });

  test('redefines a built-in type, if the redefinition accepts what its lifecycle records', async () => {
    const opened = builtinTypes().find(({ type }) => type === 'incident.opened')!;
    const widened = { ...opened, description: 'Ours.' };
    expect((await put({ types: [widened] })).body.data.changed).toEqual([
      { type: opened.type, version: 1, breaking: [] },
    ]);
    const narrowed = { ...opened, schema: { type: 'object', required: ['ticket'] }, sample: { ticket: 1 } };
    expect((await put({ types: [narrowed] })).body.errors).toMatchObject([
      { pointer: '/types/0/schema', code: 'refuses_lifecycle' },
    ]);
    await put({ types: [] });
  });

  const entry = (change: object) => ({ types: [own, { ...own, type: 'shipment.lost', ...change }] });
  test.each<[string, unknown, string]>([
    ['a sample that does not match its schema', entry({ sample: { id: 7 } }), '/types/1/sample/id'],
    ['a duplicate', entry({ type: own.type }), '/types/1/type'],
    ['a name that is not domain.action', entry({ type: 'Shipment' }), '/types/1/type'],
    ["a name of the service's own", entry({ type: 'webhook.sent' }), '/types/1/type'],
    ['a schema that is none', entry({ schema: { type: 'parcel' } }), '/types/1/schema'],
    ['a schema over 64 KiB', entry({ schema: { description: 'x'.repeat(65_536) } }), '/types/1/schema'],
    ['more than 1,000 types', { types: Array.from({ length: 1_001 }, () => own) }, '/types'],
    ['a misspelled field', { buitlin: false, types: [own] }, '/buitlin'],
    ['a missing description', entry({ description: undefined }), '/types/1/description'],
    ['no types', {}, '/types'],
  ])('refuses %s with a pointer', async (_what, body, pointer) => {
    const response = await put(body);
    expect(response.status).toBe(422);
    expect(response.body.errors.map((fault: { pointer: string }) => fault.pointer)).toContain(pointer);
  });
});
