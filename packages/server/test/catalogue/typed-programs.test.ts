import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { typesFile } from 'posthorn';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { sendRequest } from '../support/client.js';
import { command } from '../support/command.js';
import { readPage, root } from '../support/docs.js';
import { startTestService } from '../support/service.js';
import { eventually, newTenant } from '../support/tenant.js';

const example = fileURLToPath(new URL('../../../../examples/freight/catalogue.json', import.meta.url));
const service = await startTestService();
const database = { DATABASE_URL: service.databaseUrl };

const booked = `const booked = {
  type: 'shipment.booked', organization_id: 'ORG-1', actor: { type: 'user', id: 'U' }, subject: { type: 'shipment', id: 'S' },
} as const;
const payload = { id: 'SHP-1', from: 'DEHAM', to: 'SGSIN' };
`;

/** Each program has correct lines, and mistakes that must not compile. */
const programs = {
  '@posthorn/server': `import { recordEvents, type NewPlatformEvent } from '@posthorn/server';
declare const client: Parameters<typeof recordEvents>[0];
${booked}
await recordEvents(client, [{ ...booked, payload: { ...payload, weight_kg: 1 } }]);
// @ts-expect-error: a misspelled field
await recordEvents(client, [{ ...booked, payload: { ...payload, weigth_kg: 1 } }]);
// @ts-expect-error: a missing field
await recordEvents(client, [{ ...booked, payload: { id: 'SHP-1' } }]);
// @ts-expect-error: a misspelled type
export const event: NewPlatformEvent = { ...booked, type: 'shipment.bookd', payload };
`,
  '@posthorn/client': `import { Producer } from '@posthorn/client';
declare const producer: Producer;
${booked}
await producer.send({ ...booked, payload: { ...payload, containers: [{ number: 'M', size: '40ft' }] } });
// @ts-expect-error: a misspelled field
await producer.send({ ...booked, payload: { ...payload, weigth_kg: 1 } });
// @ts-expect-error: a value that is not in the enum
await producer.send({ ...booked, payload: { ...payload, containers: [{ number: 'M', size: '41ft' }] } });
// @ts-expect-error: a built-in type
await producer.send({ ...booked, type: 'invoice.paid', payload: {} });
`,
  '@posthorn/receiver': `import { createReceiver } from '@posthorn/receiver';
createReceiver({
  secret: 'whsec_',
  on: {
    'shipment.booked': ({ data }): number | undefined => data.weight_kg,
    'customs.*': ({ data }): string => data.shipment_id,
    // @ts-expect-error: a misspelled field
    'shipment.delayed': ({ data }) => data.new_etaa,
    'webhook.disabled': ({ data }): string => data.reason,
  },
});
// @ts-expect-error: a built-in type
createReceiver({ secret: 'whsec_', on: { 'invoice.paid': () => undefined } });
`,
} as const;

/** Compiles a program strictly, where only these packages are installed. */
async function compile(program: string, types: string, packages: readonly string[]): Promise<string> {
  const directory = await mkdtemp(join(inject('runDirectory'), 'typed-'));
  await mkdir(join(directory, 'node_modules/@posthorn'), { recursive: true });
  await symlink(join(root, 'node_modules/@types'), join(directory, 'node_modules/@types'));
  for (const name of packages)
    await symlink(
      join(root, 'packages', name.slice('@posthorn/'.length)),
      join(directory, 'node_modules', name),
    );
  await writeFile(join(directory, 'package.json'), '{"type":"module"}');
  await writeFile(join(directory, 'posthorn-types.ts'), types);
  await writeFile(join(directory, 'program.ts'), `import './posthorn-types.js';\n${program}`);
  const options =
    '--noEmit --strict --types node --lib es2023,esnext.disposable,dom --exactOptionalPropertyTypes --noUncheckedIndexedAccess --skipLibCheck --module nodenext --target es2023';
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(root, 'node_modules/typescript/bin/tsc'), 'program.ts', ...options.split(' ')],
    { cwd: directory },
  ).catch((error) => error);
  return stdout;
}

describe('posthorn catalogue', () => {
  test('diff shows what a file would change, and apply does it', async () => {
    const diff = await command(['catalogue', 'diff', example], database);
    expect(diff).toMatchObject({ code: 0, stderr: '' });
    expect(diff.stdout).toContain('added    shipment.booked\n');
    expect(diff.stdout).toContain('removed  invoice.paid\n');
    const applied = await command(['catalogue', 'apply', example], database);
    expect(applied.stdout).toBe(diff.stdout);
    expect((await command(['catalogue', 'diff', example], database)).stdout).toBe('No changes.\n');
    const tenant = await newTenant(service);
    const types = () => tenant.data('GET', '/v1/event-types');
    expect(await eventually(types, ({ length }) => length === 13)).toHaveLength(13);
  });

  test('refuses a file with every fault in it, each with the type that has it', async () => {
    const { types } = JSON.parse(await readFile(example, 'utf8'));
    const file = join(await mkdtemp(join(inject('runDirectory'), 'types-')), 'types.json');
    await writeFile(file, JSON.stringify([{ ...types[0], sample: {} }, { type: 'a.b' }]));
    const { code, stderr } = await command(['catalogue', 'diff', file], database);
    expect(code).toBe(1);
    expect(stderr).toContain('entry 0 (shipment.booked): /sample/id is required');
    expect(stderr).toContain('entry 1 (a.b): /description must be a string');
  });
});

describe('posthorn types generate', () => {
  let file: string;
  let generated: Awaited<ReturnType<typeof command>>;
  beforeAll(async () => {
    const tenant = await newTenant(service);
    file = join(await mkdtemp(join(inject('runDirectory'), 'types-')), 'posthorn-types.ts');
    generated = await command(['types', 'generate', '--out', file], {
      ...{ POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: tenant.token },
    });
  });

  test('says what it wrote', () => {
    expect(generated).toMatchObject({ code: 0, stdout: `Wrote 13 event types to ${file}.\n` });
  });

  test.each(Object.entries(programs))(
    'types %s where only that is installed: mistakes do not compile',
    async (name, program) => {
      expect(await compile(program, await readFile(file, 'utf8'), [name])).toBe('');
    },
  );

  test('prints a type for any JSON Schema', async () => {
    const schema = {
      properties: {
        'a-b': { type: ['string', 'null'], description: 'Ends */ here.' },
        list: { type: 'array', items: { enum: ["it's", 2, null] } },
        map: { type: 'object', additionalProperties: { type: 'integer' } },
        self: { $ref: '#' },
        all: { allOf: [{ properties: { x: {} } }, { type: 'object' }] },
        anything: true,
      },
    };
    const types = typesFile([{ type: 'a.b', description: 'A.', schema }]);
    expect(types).toContain('"a-b"?: string | null;');
    expect(types).toContain('list?: ("it\'s" | 2 | null)[];');
    expect(types).toContain('map?: Record<string, number>;');
    expect(await compile('', types, [])).toBe('');
  });
});

describe('docs/your-own-events.md', () => {
  const guide = readPage('docs/your-own-events.md');
  const blocks = (language: string) =>
    guide
      .split('\n```')
      .flatMap((part) => (part.startsWith(`${language}\n`) ? [part.slice(language.length + 1)] : []));

  test('has at most 120 lines', () => {
    expect(guide.split('\n').length - 1).toBeLessThanOrEqual(120);
  });

  test('shows commands that work, one after the other, and programs that compile with what they write', async () => {
    const directory = await mkdtemp(join(inject('runDirectory'), 'guide-'));
    const file = join(directory, 'posthorn-types.ts');
    const lines = blocks('sh').flatMap((text) => text.trim().split('\n'));
    expect(lines).toHaveLength(6);
    let token = '';
    for (const line of lines) {
      const args = line
        .replace('examples/freight/catalogue.json', example)
        .replace('posthorn-types.ts', file)
        .split(' ');
      const env = { ...database, POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: token };
      const { code, stdout, stderr } = await command(args.slice(1), env);
      expect([line, code, stderr]).toEqual([line, 0, expect.any(String)]);
      token = /pht_\S+/.exec(stdout)?.[0] ?? token;
    }
    const [producer = '', receiver = ''] = blocks('ts');
    const types = await readFile(file, 'utf8');
    expect(await compile(producer, types, ['@posthorn/client'])).toBe('');
    expect(await compile(receiver, types, ['@posthorn/receiver'])).toBe('');
  });

  test('shows a type of the example as the example has it', () => {
    const [own] = JSON.parse(blocks('json')[0] ?? '').types;
    expect(own).toMatchObject({ type: 'shipment.booked' });
  });
});

test('GET /asyncapi.json describes every type with its version, without a token', async () => {
  const { body: document } = await sendRequest(`${service.publicUrl}/asyncapi.json`);
  expect(document).toMatchObject({ asyncapi: '3.0.0', channels: { webhook: { address: null } } });
  const names = Object.values<{ name: string; 'x-schema-version': number }>(document.components.messages);
  expect(names.map(({ name }) => name)).toContain('shipment.booked');
  for (const message of names) expect(message['x-schema-version']).toBeGreaterThan(0);
  // The official parser, which runs with the generators, refuses the discriminators of OpenAPI.
  expect(JSON.stringify(document)).not.toContain('"discriminator"');
});
