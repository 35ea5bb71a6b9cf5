import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { describe, expect, it } from 'vitest';
import { afterFile } from '../test/support/cleanup.js';
import { readDocument } from '../test/support/operations.js';
import { startTestService } from '../test/support/service.js';
import { run } from '../test/support/snippets.js';
import { newTenant } from '../test/support/tenant.js';

const service = await startTestService();
const directory = await mkdtemp(join(tmpdir(), 'posthorn-generators-'));
afterFile(() => rm(directory, { recursive: true, force: true }));
const modules = fileURLToPath(new URL('node_modules', import.meta.url));
await symlink(modules, join(directory, 'node_modules'));
await writeFile(join(directory, 'package.json'), '{"private":true,"type":"module"}');

/** Runs a tool in the directory; it must succeed. */
async function tool(name: string, ...args: string[]): Promise<string> {
  const script = `cd '${directory}' && exec '${join(modules, '.bin', name)}' "$@"`;
  const { code, stdout, stderr } = await run('sh', ['-c', script, name, ...args]);
  expect(code, `${name}: ${stdout}${stderr}`).toBe(0);
  return stdout;
}

async function compile(file: string): Promise<void> {
  const options =
    '--outDir out --target es2022 --module nodenext --strict --lib es2022,dom,dom.iterable --skipLibCheck';
  await tool('tsc', file, ...options.split(' '));
}

async function heyApi(listener: string): Promise<void> {
  const places = ['--input', `${listener}.json`, '--output', `hey-${listener}`];
  await tool('openapi-ts', ...places, '--client', '@hey-api/client-fetch');
}

/** Compiles a program as one that a bundler builds later. */
async function bundled(file: string): Promise<void> {
  const options =
    '--noEmit --strict --skipLibCheck --module esnext --moduleResolution bundler --target es2022 --lib es2022,dom,dom.iterable';
  await tool('tsc', file, ...options.split(' '));
}

describe.each([
  ['public', service.publicUrl],
  ['platform', service.platformUrl],
])('the OpenAPI document of the %s listener', async (listener, url) => {
  await writeFile(join(directory, `${listener}.json`), JSON.stringify(await readDocument(url)));

  it('has no error in the eyes of Spectral', async () => {
    // Since OpenAPI 3.1, every security scheme can have scopes. Spectral still expects them for OAuth only.
    const rules = {
      extends: ['spectral:oas'],
      rules: { 'oas3-operation-security-defined': 'off', 'info-contact': 'off' },
    };
    await writeFile(join(directory, 'rules.json'), JSON.stringify(rules));
    await tool('spectral', 'lint', '--ruleset', 'rules.json', '--fail-severity', 'warn', `${listener}.json`);
  });

  it('becomes types with openapi-typescript, and they compile', async () => {
    await tool('openapi-typescript', `${listener}.json`, '--output', `${listener}.ts`);
    await compile(`${listener}.ts`);
  });

  it('becomes a client with @hey-api/openapi-ts, and it compiles', async () => {
    await heyApi(listener);
    await bundled(`hey-${listener}/index.ts`);
  });
});

it('the AsyncAPI document has no fault in the eyes of the official parser', async () => {
  const document = await (await fetch(`${service.publicUrl}/asyncapi.json`)).text();
  await writeFile(join(directory, 'asyncapi.json'), document);
  // The parser also recommends its newest version.
  await writeFile(
    join(directory, 'asyncapi.js'),
    `import { readFileSync } from 'node:fs';
import { Parser } from '@asyncapi/parser';
const { document, diagnostics } = await new Parser().parse(readFileSync('asyncapi.json', 'utf8'));
const faults = diagnostics.filter(({ code }) => code !== 'asyncapi-latest-version');
console.log(JSON.stringify([document?.version(), faults]));
`,
  );
  const { stdout } = await run('sh', ['-c', `cd '${directory}' && '${process.execPath}' asyncapi.js`]);
  expect(JSON.parse(stdout)).toEqual(['3.0.0', []]);
});

/** Runs a program that lists events, and expects the one of a new organization. */
async function expectsToList(file: string): Promise<void> {
  const tenant = await newTenant(service);
  const { id } = await tenant.record();
  const listed = await run(process.execPath, [join(directory, file)], {
    ...{ URL_OF_API: service.publicUrl, TOKEN: tenant.token, ORGANIZATION: tenant.organization },
  });
  expect(listed).toMatchObject({ code: 0, stdout: `${id}\n` });
}

describe('a generated client', () => {
  it('of openapi-typescript and openapi-fetch lists events', async () => {
    await tool('openapi-typescript', 'public.json', '--output', 'public.ts');
    await writeFile(
      join(directory, 'list.ts'),
      `import createClient from 'openapi-fetch';
import type { components, paths } from './public.js';

declare const process: { env: Record<string, string> };
const { URL_OF_API: baseUrl, TOKEN, ORGANIZATION } = process.env as Record<string, string>;
const client = createClient<paths>({ baseUrl: baseUrl!, headers: { Authorization: \`Bearer \${TOKEN}\` } });
const { data } = await client.GET('/v1/events', { params: { query: { organization_id: ORGANIZATION! } } });
const events: components['schemas']['Event'][] = data?.data ?? [];
console.log(events.map((event) => event.id).join());
`,
    );
    await compile('list.ts');
    await writeFile(join(directory, 'out/package.json'), '{"type":"module"}');
    await expectsToList('out/list.js');
  });

  it('of @hey-api/openapi-ts lists events', async () => {
    await writeFile(
      join(directory, 'hey-list.ts'),
      `import { client } from './hey-public/client.gen';
import { listEvents } from './hey-public';

declare const process: { env: Record<string, string> };
const { URL_OF_API, TOKEN, ORGANIZATION } = process.env as Record<string, string>;
client.setConfig({ baseUrl: URL_OF_API!, auth: TOKEN! });
const { data } = await listEvents({ query: { organization_id: ORGANIZATION! }, throwOnError: true });
console.log(data.data.map((event) => event.id).join());
`,
    );
    await heyApi('public');
    await bundled('hey-list.ts');
    // Its imports have no extensions, as bundlers want them.
    await build({
      ...{ root: directory, configFile: false, logLevel: 'silent' },
      build: { ssr: join(directory, 'hey-list.ts'), outDir: 'hey-out', target: 'es2022' },
    });
    await expectsToList('hey-out/hey-list.js');
  });
});
