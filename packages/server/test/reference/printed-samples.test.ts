import { describe, expect, it } from 'vitest';
import { scopes } from '../../src/access/token.js';
import { shortestPathTo } from '../../src/resources/resource-operations.js';
import type { Lifecycle } from '../../src/resources/resource-schema.js';
import { countEvents } from '../../src/stats/count-store.js';
import { type ApiResponse, record, sendRequest } from '../support/client.js';
import { resources } from '../support/lifecycle.js';
import { exampleOf, type Operation, readDocument, readOperations, urlOf } from '../support/operations.js';
import { startReceiver } from '../support/receiver.js';
import { makeToken, platformToken, startTestService } from '../support/service.js';
import { Tenant } from '../support/tenant.js';

// biome-ignore lint/suspicious/noExplicitAny: samples have every shape
type Body = any;

const service = await startTestService();
const token = await makeToken(service.database, { organization_id: 'ORG-demo', scopes: [...scopes] });
const tenant = new Tenant(service, 'ORG-demo', token);
const receiver = await startReceiver({ onDelivery: { status: 200, body: 'ok' } });

const printed = {
  public: await readOperations(service.publicUrl),
  platform: await readOperations(service.platformUrl),
};

/** The successful response that an operation prints; undefined where it is not JSON. */
function sampleOf({ responses }: Operation): { status: number; body: Body } | undefined {
  for (const [status, { content }] of Object.entries(responses)) {
    const media = content?.['application/json'];
    if (status.startsWith('2') && media) return { status: Number(status), body: media.example };
  }
  return undefined;
}

/** The request that an operation prints, with the ids of what is really there and other fields replaced. */
function send(
  listener: 'public' | 'platform',
  operation: Operation,
  path: Record<string, string> = {},
  body: Record<string, unknown> = {},
): Promise<ApiResponse> {
  const example = exampleOf(operation);
  const base = listener === 'public' ? service.publicUrl : service.platformUrl;
  const sent = example.body === undefined ? {} : { body: { ...(example.body as object), ...body } };
  return sendRequest(urlOf(base, operation, { ...example, path: { ...example.path, ...path } }), {
    ...{ method: operation.method, token: listener === 'public' ? token : platformToken, ...sent },
  });
}

/** Every key, with its place, in no order; lists count by what is in their first item. */
function keysOf(value: unknown): string[] {
  return keysIn(value, '').sort();
}

function keysIn(value: unknown, place: string): string[] {
  if (Array.isArray(value)) return value.length === 0 ? [] : keysIn(value[0], `${place}[]`);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    return [`${place}.${key}`, ...keysIn(inner, `${place}.${key}`)];
  });
}

describe('responses printed in the reference of the public API are real', async () => {
  const [event] = sampleOf(printed.public.find(({ name }) => name === 'GET /v1/events')!)!.body.data;
  const operationOf = (name: string) => printed.public.find((operation) => operation.name === name)!;

  // Each request is made once, in this order, and has the effects that those behind it need.
  const creation = operationOf('POST /v1/webhooks');
  const created = await send('public', creation, {}, { url: receiver.url });
  const webhook = created.body.data;
  await record(service, { ...event, id: undefined, created_at: undefined });
  await tenant.record({ type: 'invoice.finalized', payload: event.payload });
  const [delivery] = await tenant.settled(webhook, 1, ({ status }) => status === 'success');
  const ids = { webhook_id: webhook.id, delivery_id: delivery.id };
  const [recorded] = await tenant.events({ type: event.type });
  await countEvents(service.database);
  const responses = new Map<string, ApiResponse>([[creation.name, created]]);
  for (const operation of printed.public.filter(({ name }) => name !== creation.name)) {
    const isLast = operation.method === 'DELETE' || operation.name === 'GET /v1/audit-logs';
    if (!sampleOf(operation) || isLast) continue;
    const replay_id = responses.get('POST /v1/webhooks/{webhook_id}/replay')?.body.data.id ?? 'none';
    const isDelivered = operation.name.endsWith('/{event_id}/deliveries');
    const event_id = isDelivered ? delivery.event_id : recorded.id;
    const path = { ...ids, event_id, replay_id };
    responses.set(operation.name, await send('public', operation, path));
  }
  // The newest entry is then the one of a change.
  await tenant.data('PATCH', `/v1/webhooks/${webhook.id}`, { event_types: ['invoice.paid'] });
  const audit = operationOf('GET /v1/audit-logs');
  responses.set(audit.name, await send('public', audit));

  const withSample = printed.public.filter((operation) => sampleOf(operation) !== undefined);

  it.each(withSample.map((operation) => [operation.name, operation] as const))('%s', (name, operation) => {
    const sample = sampleOf(operation)!;
    const response = responses.get(name)!;
    // The newest event is a delivery's own; the one that the sample shows is further down.
    const body = name === 'GET /v1/events' ? { ...response.body, data: [recorded] } : response.body;
    // Every webhook got this event.
    if (body.meta?.not_delivered) body.meta.not_delivered = sample.body.meta.not_delivered;
    expect(response.status, response.text).toBe(sample.status);
    expect(keysOf(sample.body)).toEqual(keysOf(body));
    // A replay may be done by the time it is looked at.
    if (!name.includes('/replays/')) expect(sample.body.data?.status).toBe(body.data?.status);
  });

  it('every operation that returns JSON has one', () => {
    const spoken = printed.public.filter(
      ({ method, name }) => method !== 'DELETE' && !name.endsWith('/tail'),
    );
    expect(withSample).toEqual(spoken);
  });

  it('a receiver gets the printed envelope and headers, and the verification request', async () => {
    const { tags, components } = await readDocument(service.publicUrl);
    const { parameters, requestBody } = components.pathItems!['invoice.finalized']!.post!;
    const { headers, envelope } = await receiver.deliveries.nth(1);
    const { data: _data, ...around } = requestBody.content['application/json'].example;
    expect(Object.keys(envelope)).toEqual([...Object.keys(around), 'data']);
    const required = parameters.filter((parameter: Body) => parameter.required);
    for (const { name } of required) expect(headers[name.toLowerCase()], name).toMatch(/\S/);

    const guide = tags.find(({ name }) => name === 'Receive webhooks')?.description ?? '';
    const [, code = ''] = (guide.split('### The verification request')[1] ?? '').split(/```(?:json)?/);
    const sample = JSON.parse(code);
    const verification = await receiver.verifications.nth(1);
    expect(keysOf(sample)).toEqual(keysOf(verification.envelope));
    expect(verification.headers).not.toHaveProperty('x-service-delivery');
    expect(verification.headers).not.toHaveProperty('x-service-attempt');
  });

  it('no printed response contains a secret', () => {
    for (const operation of withSample)
      expect(keysOf(sampleOf(operation)!.body)).not.toContain('.data.secret');
  });
});

describe('responses printed in the reference of the platform listener are real', () => {
  const operationOf = (name: string) => printed.platform.find((operation) => operation.name === name)!;

  /** What is another one every time, by the name it has in the sample. */
  function masked(body: Body, id: string): Body {
    const text = JSON.stringify(body)
      .replaceAll(id, 'the id')
      .replaceAll(/EVT-[0-9A-Z]{26}/g, 'an event')
      .replaceAll(/"(created_at|updated_at)":"[^"]*"/g, '"$1":"a time"');
    return JSON.parse(text);
  }

  /** A resource that the printed requests have led to this status. */
  async function bring(resource: string, lifecycle: Lifecycle, status: string): Promise<string> {
    const created = await send('platform', operationOf(`POST /platform/${resource}`));
    const { id } = created.body.data;
    for (const move of shortestPathTo(lifecycle, status))
      await send('platform', operationOf(`POST /platform/${resource}/{id}/${move}`), { id });
    return id;
  }

  const moves = resources.flatMap(([resource, lifecycle]) =>
    Object.entries(lifecycle.moves).map(([move, { transitions }]) => {
      const from = Object.keys(transitions)[0]!;
      return [`POST /platform/${resource}/{id}/${move}`, { resource, lifecycle, from }] as const;
    }),
  );

  it.each(resources)('POST /platform/%s', async (resource) => {
    const operation = operationOf(`POST /platform/${resource}`);
    const sample = sampleOf(operation)!;
    const response = await send('platform', operation);
    expect(response.status, response.text).toBe(sample.status);
    expect(masked(sample.body, sample.body.data.id)).toEqual(masked(response.body, response.body.data.id));
  });

  it.each(resources)('GET /platform/%s/{id}', async (resource, lifecycle) => {
    const operation = operationOf(`GET /platform/${resource}/{id}`);
    const sample = sampleOf(operation)!;
    const response = await send('platform', operation, {
      id: await bring(resource, lifecycle, lifecycle.creation.to),
    });
    expect(masked(sample.body, sample.body.data.id)).toEqual(masked(response.body, response.body.data.id));
  });

  it.each(moves)('%s', async (name, { resource, lifecycle, from }) => {
    const operation = operationOf(name);
    const sample = sampleOf(operation)!;
    const response = await send('platform', operation, { id: await bring(resource, lifecycle, from) });
    expect(response.status, response.text).toBe(sample.status);
    expect(masked(sample.body, sample.body.data.id)).toEqual(masked(response.body, response.body.data.id));
  });

  it.each(['POST /platform/events', 'GET /healthz', 'GET /readyz'])('%s', async (name) => {
    const sample = sampleOf(operationOf(name))!;
    const response = await send('platform', operationOf(name));
    expect(response.status, response.text).toBe(sample.status);
    expect(keysOf(sample.body)).toEqual(keysOf(response.body));
  });

  it('every resource has its table of moves', async () => {
    const { tags } = await readDocument(service.platformUrl);
    for (const [resource, { moves }] of resources) {
      const ofResource = (name: string) => name.toLowerCase().replaceAll(' ', '-') === resource;
      const { description = '' } = tags.find(({ name }) => ofResource(name)) ?? {};
      const rows = [...description.matchAll(/^\| `([a-z-]+)` \| .* \| `([a-z_.]+)` \|$/gm)];
      expect(rows.map(([, move, event]) => [move, event])).toEqual(
        Object.entries(moves).map(([move, { event }]) => [move, event]),
      );
    }
  });
});
