import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type ApiDocument, readDocument, readOperations } from '../support/operations.js';
import { startTestService } from '../support/service.js';

const origin = 'https://hooks.acme.test';
const service = await startTestService({ POSTHORN_PUBLIC_URL: origin });
const directory = await mkdtemp(join(tmpdir(), 'posthorn-openapi-'));
afterAll(() => rm(directory, { recursive: true }));

describe.each([
  ['public', service.publicUrl, origin],
  ['platform', service.platformUrl, '/'],
])('generators can rely on the OpenAPI document of the %s listener:', async (listener, url, server) => {
  const document = await readDocument(url);
  const { schemas } = document.components;
  const operations = await readOperations(url);

  it('it names the server', () => {
    expect(document.servers).toEqual([{ url: server }]);
  });

  it('no schema is just null', () => {
    const bare = schemasIn(document).filter(
      ({ path, schema }) => schema.type === 'null' && !/\/anyOf\/1$/.test(path),
    );
    expect(bare.map(({ path }) => path)).toEqual([]);
  });

  it('every choice has a type', () => {
    const untyped = schemasIn(document).filter(({ schema }) => schema.enum && !schema.type);
    expect(untyped.map(({ path }) => path)).toEqual([]);
  });

  it('every JSON body is a component, or made of components', () => {
    const bodies = operations.flatMap(({ name, body, responses }) => {
      const contents = [body, ...Object.values(responses).map(({ content }) => content)];
      const media = contents.flatMap((content) => Object.entries(content ?? {}));
      return media
        .filter(([type]) => /json$/.test(type) && !/ndjson/.test(type))
        .map(([, { schema }]) => ({ name, schema }));
    });
    for (const { schema } of Object.values(document.components.pathItems ?? {}).map(
      ({ post }) => post.requestBody.content['application/json'],
    ))
      bodies.push({ name: 'webhooks', schema });
    expect(bodies.length).toBeGreaterThan(operations.length);
    for (const { name, schema } of bodies) {
      const refs = schema.$ref ? [schema] : schema.anyOf.map((one: { items?: unknown }) => one.items ?? one);
      for (const one of refs) expect(one.$ref, name).toMatch(/^#\/components\/schemas\/[A-Z][A-Za-z0-9]+$/);
    }
  });

  it('no object is described twice without a name', () => {
    const inline = schemasIn(document)
      // Payloads belong to their event types, whatever they have in common.
      .filter(({ path }) => !/\/components\/schemas\/[^/]+$/.test(path) && !path.endsWith('/payload'))
      .filter(({ schema }) => Object.keys(schema.properties ?? {}).length > 1)
      .map(({ schema }) => JSON.stringify([schema.properties, schema.required]));
    expect(inline.filter((text, index) => inline.indexOf(text) !== index)).toEqual([]);
  });

  it('no name is also the name of a constructor that Go generators write for another', () => {
    const names = Object.keys(schemas);
    const constructors = names.flatMap((name) => [`New${name}`, `New${name}WithDefaults`]);
    expect(names.filter((name) => constructors.includes(name))).toEqual([]);
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
  });

  it('a body is optional exactly where the service does without one', () => {
    const optional = operations.filter(({ body, bodyIsRequired }) => body && !bodyIsRequired);
    expect(optional.map(({ path }) => path.split('/').at(-1)).sort()).toEqual(
      listener === 'public' ? ['redeliver', 'rotate-secret', 'verify'] : [],
    );
  });

  it('every response has its headers', () => {
    for (const { name, responses, scopes } of operations) {
      for (const [status, { headers = {} }] of Object.entries(responses)) {
        const place = `${name} ${status}`;
        const names = Object.keys(headers);
        for (const header of names) expect(document.components.headers[header], place).toBeDefined();
        expect(names, place).toContain('X-Request-Id');
        if (status === '401') expect(names, place).toContain('WWW-Authenticate');
        else if (scopes.length > 0)
          expect(names, place).toEqual(expect.arrayContaining(['RateLimit', 'RateLimit-Policy']));
        if (status === '429' || status === '503') expect(names, place).toContain('Retry-After');
      }
    }
  });
});

it('Redocly finds nothing to complain about in either document', async () => {
  const listeners = { 'public.json': service.publicUrl, 'platform.json': service.platformUrl };
  for (const [file, url] of Object.entries(listeners))
    await writeFile(join(directory, file), JSON.stringify(await readDocument(url)));
  const packageFile = createRequire(import.meta.url).resolve('@redocly/cli/package.json');
  const program = join(dirname(packageFile), 'bin/cli.js');
  // It ends before code that V8 optimizes would pay off: optimizing takes a third of its CPU.
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--no-opt', program, 'lint', '--extends=recommended', '--format=json', ...Object.keys(listeners)],
    {
      cwd: directory,
      encoding: 'utf8',
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    },
  );
  expect(status, stderr).toBe(0);
  // It prints one object after another.
  const totals = [...stdout.matchAll(/"totals": (\{.*?\})/gs)].map(([, text = '']) => JSON.parse(text));
  expect(totals).toMatchObject([
    { errors: 0, warnings: 0 },
    { errors: 0, warnings: 0 },
  ]);
});

// biome-ignore lint/suspicious/noExplicitAny: JSON Schema has every shape
type Found = { path: string; schema: any };

/** Every schema of the document, with the path to it. Examples are values, not schemas. */
function schemasIn(value: unknown, path = ''): Found[] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.entries(value)
    .filter(([key]) => !/^examples?$/.test(key))
    .flatMap(([key, each]) => schemasIn(each, `${path}/${key}`));
  const isSchema = !/\/(properties|schemas|headers)$/.test(path);
  return isSchema && !Array.isArray(value) ? [{ path, schema: value as ApiDocument }, ...inner] : inner;
}
