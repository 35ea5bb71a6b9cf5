import { STATUS_CODES } from 'node:http';
import type { FastifyInstance } from 'fastify';
import Type, { type TSchema } from 'typebox';
import { type Catalogue, madeFrom } from '../catalogue/catalogue.js';
import { type ProblemCode, problems } from '../values/problem.js';
import type { Route, Tag } from '../web/route.js';
import { optional, ProblemSchema } from '../web/schemas.js';
import { encodedRoute, StaticContent } from '../web/static-content.js';
import { Components, plainSchema, type Schema, schemaExample } from './components.js';
import { errorsGuide, withOwnSamples, withOwnTypes } from './guides.js';

export interface DocumentInfo {
  title: string;
  version: string;
  description: string;
  /** Tags without operations, whose descriptions are guides. A guide to errors is added. */
  guides: readonly Tag[];
  securityName: string;
  securityDescription: string;
  /** Tags under their headings. */
  tagGroups: readonly { name: string; tags: readonly Tag[] }[];
  /** The address of the API. If not set, it is the address that the document comes from. */
  serverUrl?: string | undefined;
  /** The requests that receivers get, the callback that stands for all of them, and the schemas of their bodies. */
  webhooks?: { requests: Record<string, unknown>; callback: object; schemas: Record<string, Schema> };
}

/** Serves the OpenAPI document of the routes at `/openapi.json`. It is made when it is first read after a change. */
export function serveApiDocument(
  app: FastifyInstance,
  catalogue: Catalogue,
  info: (current: Catalogue) => DocumentInfo,
): void {
  const content = madeFrom(catalogue, (current) => {
    const document = apiDocument(info(current));
    const text = JSON.stringify(withOwnSamples(document, current), null, 2);
    return StaticContent.of('application/json; charset=utf-8', withOwnTypes(text, current));
  });
  app.get('/openapi.json', { config: { open: true }, ...encodedRoute }, async (request, reply) =>
    content().send(request, reply),
  );
}

/** Returns the OpenAPI 3.1 document of the routes. JSON leaves out what is undefined. */
function apiDocument(info: DocumentInfo): object {
  const { title, version, description, securityName, securityDescription } = info;
  const components = new Components();
  components.schemas.Problem = components.named(ProblemSchema);
  const usedCodes = new Set<ProblemCode>(codesOfAnyPath);
  const usedHeaders = new Set<HeaderName>();
  const paths: Record<string, Record<string, object>> = {};
  for (const { name, routes = [] } of info.tagGroups.flatMap(({ tags }) => tags)) {
    for (const route of routes) {
      paths[route.path] ??= {};
      paths[route.path]![route.method.toLowerCase()] = operationOf(route, name);
    }
  }
  const { webhooks } = info;
  Object.assign(components.schemas, webhooks?.schemas);
  const guides = { name: 'Guides', tags: [...info.guides, errorsGuide(usedCodes)] };
  const groups = [guides, ...info.tagGroups];
  return {
    openapi: '3.1.0',
    info: { title, version, description, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: info.serverUrl ?? '/' }],
    security: [{ [securityName]: [] }],
    tags: groups.flatMap(({ tags }) => tags.map(({ name, description }) => ({ name, description }))),
    'x-tagGroups': groups.map(({ name, tags }) => ({ name, tags: tags.map((tag) => tag.name) })),
    paths,
    // References, because `openapi-generator` writes an invalid Python module for requests that stand here.
    webhooks:
      webhooks &&
      Object.fromEntries(
        Object.keys(webhooks.requests).map((type) => [type, { $ref: `#/components/pathItems/${type}` }]),
      ),
    components: {
      securitySchemes: {
        [securityName]: { type: 'http', scheme: 'bearer', description: securityDescription },
      },
      schemas: components.schemas,
      pathItems: webhooks?.requests,
      headers: Object.fromEntries(
        Object.entries(headers).filter(([name]) => usedHeaders.has(name as HeaderName)),
      ),
    },
  };

  function operationOf(route: Route, tag: string): object {
    const { operationId, summary, scopes, body, bodyIsOptional, consumes, produces } = route;
    const id = operationId.replace(/^[a-z]/, (letter) => letter.toUpperCase());
    const parameters = [
      ...parametersOf('query', route.query),
      ...parametersOf('path', route.params),
      ...parametersOf('header', route.idempotent ? IdempotencyHeaders : route.headers),
    ];
    const succeeded = Object.entries(route.returns).map(([status, schema]) => {
      const { description = STATUS_CODES[status], type } = schema as Schema;
      const content = type !== 'null' && { content: contentOf(schema, `${id}Body`, produces) };
      return [status, { description, ...content, headers: headersOf(route, Number(status)) }];
    });
    const codes = codesOf(route);
    for (const code of codes) usedCodes.add(code);
    const refused = [...new Set(codes.map((code) => problems[code].status))].map((status) => {
      const own = codes.filter((code) => problems[code].status === status);
      const description = own.map((code) => `\`${code}\`: ${problems[code].title}.`).join(' ');
      return [status, { description, content: problemContent, headers: headersOf(route, status, own) }];
    });
    return {
      operationId,
      summary,
      tags: [tag],
      description: scopes ? `${route.description}\n\n${required(scopes)}` : route.description,
      ...(parameters.length > 0 && { parameters }),
      requestBody: body && {
        description: (body as Schema).description,
        required: !bodyIsOptional,
        content: contentOf(body, `${id}Request`, consumes),
      },
      security: route.open ? [] : scopes && [{ [securityName]: scopes }],
      responses: Object.fromEntries([...succeeded, ...refused]),
      ...(operationId === 'createWebhook' && info.webhooks && { callbacks: info.webhooks.callback }),
    };
  }

  function contentOf(schema: TSchema, name: string, types: readonly string[] = ['application/json']): object {
    const example = schemaExample(schema);
    const entries = types.map((type) => {
      // Generators treat NDJSON as text.
      if (type === 'application/x-ndjson')
        return [type, { schema: { type: 'string' }, example: `${JSON.stringify(example)}\n` }];
      return [
        type,
        { schema: components.body(schema, name), ...(type === 'application/json' && { example }) },
      ];
    });
    return Object.fromEntries(entries);
  }

  /** Returns the headers of a response. For an error, `codes` are those that the response can have. */
  function headersOf(route: Route, status: number, codes: readonly ProblemCode[] = []): object {
    const names: HeaderName[] = ['X-Request-Id'];
    // The rate limit of a token. The platform token has no limit.
    if (route.scopes && status !== 401) names.push('RateLimit', 'RateLimit-Policy');
    if (status < 400) names.push(...(route.sends ?? []));
    if (status < 300 && route.idempotent) names.push('Idempotency-Replayed');
    if (status === 401) names.push('WWW-Authenticate');
    if (status === 421) names.push('Posthorn-Cell');
    if (status === 429 || status === 503 || codes.includes('idempotency_in_progress'))
      names.push('Retry-After');
    for (const name of names) usedHeaders.add(name);
    return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
  }
}

const text = (description: string, example: string) => ({
  description,
  schema: { type: 'string' },
  example,
});

/** The response headers that clients use. */
const headers = {
  'X-Request-Id': text(
    'Request ID. If the request has an `X-Request-Id` of 8 to 128 letters, digits, dots, hyphens or underscores, ' +
      'the response has the same one.',
    '0b0f1c86-7f3f-4b43-9b39-3f1f6e2f6c55',
  ),
  'WWW-Authenticate': text('The authentication scheme: `Bearer`.', 'Bearer'),
  'Retry-After': {
    description: 'Number of seconds to wait before you repeat the request.',
    schema: { type: 'integer', minimum: 1 },
    example: 2,
  },
  RateLimit: text(
    'How many requests are left (`r`), and the number of seconds until the count resets (`t`). Not sent if ' +
      'the limit is turned off.',
    '"reads";r=598;t=42',
  ),
  'RateLimit-Policy': text(
    'How many requests a token can make (`q`) within a number of seconds (`w`). Not sent if the limit is turned off.',
    '"reads";q=600;w=60',
  ),
  Location: text(
    'Path of the resource that the request created.',
    '/v1/webhooks/WHK-01JAB3C4D5E6F7G8H9J0K1M2N3',
  ),
  ETag: text('Identifies this content. Send it as `If-None-Match`.', '"h1Nq0dJ3v0m7T2yWc5kZbA"'),
  'Idempotency-Replayed': text(
    '`true` if this is the stored response to the first request with the same `Idempotency-Key`.',
    'true',
  ),
  'Posthorn-Cell': text('The name of the cell to use instead.', 'eu2'),
};
type HeaderName = keyof typeof headers;

const problemContent = {
  'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
};

const IdempotencyHeaders = Type.Object(
  optional({
    'Idempotency-Key': Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[!-~]+$',
      description:
        'Makes it safe to repeat the request. For 24 hours, the same key with the same body returns the first response.',
      examples: ['2f9c1c1e-invoice-hook'],
    }),
  }),
);

function parametersOf(place: string, group: TSchema | undefined): object[] {
  const { properties = {}, required = [] } = (group ?? {}) as Schema;
  return Object.entries(properties).map(([name, property]) => {
    const { description, examples, ...schema } = plainSchema(property);
    const example = examples && { example: examples[0] };
    return { in: place, name, required: required.includes(name), description, schema, ...example };
  });
}

/** Returns the scopes as text, because Scalar does not show the scopes of a bearer token. */
function required(scopes: readonly string[]): string {
  if (scopes.length === 0) return 'Any valid token works. No scope is required.';
  return `Required ${scopes.length > 1 ? 'scopes' : 'scope'}: ${scopes.map((scope) => `\`${scope}\``).join(', ')}.`;
}

/** Codes that are also returned for paths without an operation. */
const codesOfAnyPath: readonly ProblemCode[] = ['malformed_request', 'not_found', 'method_not_allowed'];

/** Returns the codes that a route can return. */
function codesOf(route: Route): ProblemCode[] {
  const { method, path, query, body, idempotent, early, open, scopes = [], refusals = [] } = route;
  const codes: ProblemCode[] = ['invalid_parameter', 'internal', 'unavailable', ...refusals];
  const names = [query, body].flatMap((schema) =>
    Object.keys((schema as Schema | undefined)?.properties ?? {}),
  );
  // Both listeners limit wrong tokens by address.
  if (!open) codes.push('unauthenticated', 'rate_limited');
  if (!open && !early) codes.push('wrong_cell');
  if (scopes.length > 0) codes.push('insufficient_scope');
  if (scopes.length > 0 && names.includes('organization_id'))
    codes.push('organization_forbidden', 'workspace_forbidden');
  if (names.includes('cursor')) codes.push('invalid_cursor');
  if (path.includes('{')) codes.push('not_found');
  if (idempotent) codes.push('idempotency_in_progress', 'idempotency_key_reused');
  if (body || idempotent) codes.push('invalid_body');
  // An unexpected body is also checked.
  if (method !== 'GET') codes.push('malformed_json', 'body_too_large', 'unsupported_media_type');
  return codes;
}
