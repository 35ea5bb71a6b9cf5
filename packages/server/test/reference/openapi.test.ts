import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { scopes } from '../../src/access/token.js';
import { problems } from '../../src/values/problem.js';
import { event, type RequestOptions, record, sendRequest } from '../support/client.js';
import { Conformance } from '../support/conformance.js';
import {
  type ApiDocument,
  exampleOf,
  named,
  type Operation,
  readDocument,
  readOperations,
  resolved,
  urlOf,
} from '../support/operations.js';
import { openSocket, sendRaw, sendStart } from '../support/raw-http.js';
import { makeToken, platformToken, sharedService } from '../support/service.js';

const service = await sharedService();
// The examples are of this organization, so they can be tried as they stand.
const accessToken = await makeToken(service.database, { organization_id: 'ORG-demo', scopes: [...scopes] });
const ours = { organization_id: 'ORG-demo', workspace_id: 'WS-berlin' };
const [recorded] = await record(service, event(ours), event(ours), event({ ...ours, workspace_id: null }));

/** For both documents: it compiles the schema of OpenAPI when it first validates one. */
const validator = new Validator();

describe.each([
  ['public API', service.publicUrl, accessToken],
  ['platform listener', service.platformUrl, platformToken],
])('the OpenAPI document of the %s', async (_listener, url, token) => {
  const document = await readDocument(url);
  const operations = await readOperations(url);
  const conformance = await Conformance.of(url);
  const largest = Buffer.alloc(url === service.publicUrl ? 64 * 1024 : 8 * 1024 * 1024, ' ');
  largest.write('{"no_such_field":1}');
  /** Whether to send as much: 8 MiB takes 30 ms of CPU, and all lifecycles have the routes that tasks have. */
  const isSentWhole = ({ path }: Operation) =>
    url === service.publicUrl || /^\/platform\/(events|tokens|portal-sessions|tasks)\b/.test(path);

  it('is valid OpenAPI 3.1', async () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    const { valid, errors } = await validator.validate(document as never);
    expect(valid, JSON.stringify(errors, null, 1)).toBe(true);
  });

  it('resolves all its references', () => {
    const pointers = JSON.stringify(document).match(/"\$ref":"[^"]+"/g) ?? [];
    expect(pointers.length).toBeGreaterThan(0);
    for (const pointer of new Set(pointers.map((text) => JSON.parse(`{${text}}`).$ref as string))) {
      const target = pointer
        .slice(2)
        .split('/')
        .reduce<unknown>((place, step) => (place as Record<string, unknown> | undefined)?.[step], document);
      expect(target, pointer).toBeDefined();
    }
  });

  it('gives every operation its own id and tag', () => {
    const all = Object.values(document.paths).flatMap((item) => Object.values(item));
    const ids = all.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { tags } of all) expect(tags).toHaveLength(1);
  });

  it('puts every tag into one group', () => {
    const grouped = document['x-tagGroups'].flatMap(({ tags }) => tags);
    expect(grouped.sort()).toEqual(document.tags.map(({ name }) => name).sort());
  });

  describe.each(named(operations))('%s', (_name, operation) => {
    it('has a short summary, and a description of each parameter and field', () => {
      expect(operation.summary).toMatch(/^[A-Z][^.?]{4,45}$/);
      const undescribed = operation.parameters.filter(({ description = '' }) => !sentences.test(description));
      expect(undescribed.map(({ name }) => name)).toEqual([]);
      const contents = [operation.body, ...Object.values(operation.responses).map(({ content }) => content)];
      const schemas = contents.flatMap((content) => Object.values(content ?? {}).map(({ schema }) => schema));
      // These only wrap others.
      const wrappers = /^(data|meta|event)$/;
      expect(
        schemas
          .flatMap((schema) => undescribedFields(document, schema))
          .filter((path) => !wrappers.test(path)),
      ).toEqual([]);
    });

    it('has its possible error responses, as problems', () => {
      const expected = ['400', '500', '503'];
      if (!operation.isOpen) expected.push('401', '429');
      if (operation.scopes.length > 0) expected.push('403');
      if (operation.path.includes('{')) expected.push('404');
      if (operation.body) expected.push('413', '415', '422');
      expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(expected));
      const errors = Object.entries(operation.responses).filter(([status]) => Number(status) >= 400);
      for (const [status, { content, description }] of errors) {
        expect(Object.keys(content ?? {}), status).toEqual(['application/problem+json']);
        const codes = [...description.matchAll(/`([a-z_]+)`/g)].map(([, code]) => code!);
        expect(codes.length, `${status}: ${description}`).toBeGreaterThan(0);
        for (const code of codes)
          expect(problems[code as keyof typeof problems]?.status, code).toBe(Number(status));
      }
    });

    it('has the headers that tell a client what to do', () => {
      const counted = url === service.publicUrl && !operation.isOpen ? ['RateLimit', 'RateLimit-Policy'] : [];
      const expected: Record<string, readonly string[]> = {
        401: ['X-Request-Id', 'WWW-Authenticate'],
        429: ['X-Request-Id', 'Retry-After', ...counted],
        503: ['X-Request-Id', 'Retry-After', ...counted],
      };
      for (const [status, { headers = {} }] of Object.entries(operation.responses)) {
        const names = expected[status] ?? ['X-Request-Id', ...counted];
        expect(Object.keys(headers), status).toEqual(expect.arrayContaining([...names]));
        const limited = Object.keys(headers).some((name) => name.startsWith('RateLimit'));
        expect(limited, status).toBe(names.includes('RateLimit'));
      }
    });

    it('has examples of its parameters, body and successful responses that match their schemas', () => {
      for (const [index, { name, example, schema }] of operation.parameters.entries()) {
        const value = example ?? schema.examples?.[0] ?? schema.default ?? schema.enum?.[0];
        expect(value, name).toBeDefined();
        expect(conformance.exampleFaults(operation, ['parameters', index, 'schema'], value), name).toEqual(
          [],
        );
      }
      const bodies = [
        { steps: ['requestBody'] as (string | number)[], content: operation.body },
        ...Object.entries(operation.responses).map(([status, { content }]) => ({
          ...{ steps: ['responses', status], content },
        })),
      ];
      for (const { steps, content } of bodies) {
        const media = content?.['application/json'];
        if (!media) continue;
        expect(media.example, steps.join(' ')).toBeDefined();
        const at = [...steps, 'content', 'application/json', 'schema'];
        expect(conformance.exampleFaults(operation, at, media.example), steps.join(' ')).toEqual([]);
      }
    });

    const send = async (options: RequestOptions, change: Partial<ReturnType<typeof exampleOf>> = {}) => {
      const example = { ...exampleOf(operation), ...change };
      const response = await sendRequest(urlOf(url, operation, example), {
        ...{ method: operation.method, token: operation.isOpen ? undefined : token },
        ...(example.body !== undefined && { body: example.body }),
        ...options,
      });
      conformance.check(operation, response);
      return response;
    };

    it('responds to its own example as documented', async () => {
      const { status, text } = await send({});
      // An example's id is nobody's; everything else in an example must do.
      if (operation.path.includes('{')) expect(status, text).toBeLessThan(500);
      else expect(status, text).toBeLessThan(300);
    });

    it('responds to faults as documented', async () => {
      const faulty = await send({}, { query: { ...exampleOf(operation).query, no_such_parameter: '1' } });
      expect(faulty.status).toBe(400);
      if (!operation.isOpen) expect((await send({ token: undefined })).status).toBe(401);
      if (operation.body) {
        const headers = { 'content-type': 'application/json' };
        const bodiless = { body: undefined };
        expect((await send({ raw: '{', headers }, bodiless)).status).toBe(400);
        expect((await send({ raw: '{}', headers: { 'content-type': 'text/css' } }, bodiless)).status).toBe(
          415,
        );
        expect((await send({ body: { no_such_field: 1 } })).status).toBe(422);
      }
    });

    if (!operation.body) return;
    it('accepts a body of the largest size and no larger', async () => {
      const { pathname, search } = new URL(urlOf(url, operation, exampleOf(operation)));
      const announcing = (bytes: number) => [
        `${operation.method} ${pathname}${search} HTTP/1.1`,
        ...['Host: localhost', `Authorization: Bearer ${token}`, 'Connection: close'],
        ...['Content-Type: application/json', `Content-Length: ${bytes}`, '', ''],
      ];
      const start = announcing(largest.length).join('\r\n');
      // Announced and not sent: the service waits for it.
      const waiting = await openSocket(url);
      waiting.write(start);
      // The length alone is refused. The service responds to this request after it has read the other one.
      const refused = await sendStart(url, announcing(largest.length + 1).join('\r\n'));
      expect(refused.status).toBe(413);
      conformance.check(operation, { ...refused, headers: new Headers(refused.headers) });
      expect(String(waiting.read() ?? '')).toBe('');
      waiting.destroy();
      if (!isSentWhole(operation)) return;
      const accepted = await sendRaw(url, start, largest);
      expect(accepted.status).toBe(422);
      conformance.check(operation, { ...accepted, headers: new Headers(accepted.headers) });
    });
  });
});

const sentences = /^\S.*\.$/s;

/** Paths of fields that are not described in sentences. */
// biome-ignore lint/suspicious/noExplicitAny: JSON Schema has every shape
function undescribedFields(document: ApiDocument, given: any, path = ''): string[] {
  const schema = resolved(document, given);
  const inside = [schema?.items, ...(schema?.anyOf ?? [])].filter(Boolean);
  const fields = Object.entries(schema?.properties ?? {}).flatMap(([name, field]) => {
    const below = path === '' ? name : `${path}.${name}`;
    const isDescribed = sentences.test((field as { description?: string }).description ?? '');
    return [...(isDescribed ? [] : [below]), ...undescribedFields(document, field, below)];
  });
  return [...fields, ...inside.flatMap((each) => undescribedFields(document, each, path))];
}

describe('real responses match the schemas of the document', async () => {
  const conformance = await Conformance.of(service.publicUrl);
  const operations = await readOperations(service.publicUrl);
  const operation = (name: string) => operations.find((each) => each.name === name) as Operation;

  it.each([
    ['GET /v1/events', '/v1/events?organization_id=ORG-demo', 200],
    ['GET /v1/events', '/v1/events?organization_id=ORG-demo&order=asc&limit=1', 200],
    ['GET /v1/events', '/v1/events?organization_id=ORG-demo&type=nobody.knows', 200],
    ['GET /v1/events', '/v1/events?organization_id=ORG-demo&cursor=nonsense', 400],
    ['GET /v1/events', '/v1/events?organization_id=ORG-other', 403],
    ['GET /v1/events/{event_id}', `/v1/events/${recorded!.id}`, 200],
    ['GET /v1/events/{event_id}', '/v1/events/EVT-unknown', 404],
    ['GET /v1/event-types', '/v1/event-types', 200],
    ['GET /v1/events/tail', '/v1/events/tail?organization_id=ORG-demo', 200],
  ])('%s: %s is %i', async (name, path, status) => {
    const response = await sendRequest(`${service.publicUrl}${path}`, { token: accessToken });
    expect(response.status).toBe(status);
    conformance.check(operation(name), response);
  });

  it('an event that the client already has is just a 304', async () => {
    const response = await sendRequest(`${service.publicUrl}/v1/events/${recorded!.id}`, {
      ...{ token: accessToken, headers: { 'if-none-match': '*' } },
    });
    expect(response.status).toBe(304);
    conformance.check(operation('GET /v1/events/{event_id}'), response);
  });
});

describe('the webhooks section', () => {
  it('describes for every event type what a receiver gets', async () => {
    // Read here, because the example of PUT /platform/event-types has added a type.
    const { webhooks = {}, components, paths } = await readDocument(service.publicUrl);
    const [callback] = Object.values<{ post: unknown }>(paths['/v1/webhooks']!.post!.callbacks.event);
    const { body } = await sendRequest(`${service.publicUrl}/v1/event-types`, { token: accessToken });
    expect(Object.keys(webhooks)).toEqual(
      expect.arrayContaining(body.data.map(({ type }: { type: string }) => type)),
    );
    for (const [type, { $ref }] of Object.entries(webhooks)) {
      expect($ref).toBe(`#/components/pathItems/${type}`);
      const { post } = components.pathItems![type]!;
      const { example } = post.requestBody.content['application/json'];
      expect(Object.keys(example)).toEqual(
        expect.arrayContaining(['id', 'type', 'created_at', 'organization_id', 'workspace_id', 'data']),
      );
      expect(example.type).toBe(type);
      const headers = post.parameters.map(({ name }: { name: string }) => name);
      expect(headers).toContain('X-Service-Signature');
      expect(callback).toMatchObject({ post: { parameters: post.parameters } });
    }
  });
});
