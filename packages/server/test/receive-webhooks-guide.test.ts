import { createHmac } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { signedRequest } from '@posthorn/receiver/testing';
import { describe, expect, test } from 'vitest';
import { frameworks } from '../../console/src/receiver/frameworks.js';
import { sharedService } from './support/service.js';
import {
  buildGo,
  firstThatRuns,
  freePort,
  oddHeaders,
  run,
  Server,
  secretDemand,
  snippet,
  unusableSecrets,
  Workshop,
} from './support/snippets.js';
import { eventually, newTenant } from './support/tenant.js';

const page = 'docs/receive-webhooks.md';
const secret = 'a-secret-of-the-guide';
const whsec = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;
const unpadded = whsec.replace('=', '');
const service = await sharedService();
const workshop = await Workshop.open();
const python = await firstThatRuns(['python3', '/usr/bin/python3'], ['--version']);
const go = await firstThatRuns(['go', '/usr/local/go/bin/go'], ['version']);

const source = snippet(page, 'ts', 'createServer(');
const declaration = snippet('packages/receiver/README.md', 'ts', "'parcel.shipped'");
const [imported = ''] = declaration.split('\n');
const use = "export const of = (event: EnvelopeOf<'parcel.shipped'>): string => event.data.carrier;\n";
const compiled = await workshop.compile({
  receive: source.replace('listen(3000)', "listen(Number(process.env.PORT), '127.0.0.1')"),
  misspelt: source.replace('event.data.severity', 'event.data.severty'),
  readme: snippet('packages/receiver/README.md', 'ts', 'isCritical'),
  undeclared: `${imported}\n${use}`,
});

/** Starts a receiver of the guide on a port of ours and subscribes it. Returns what it prints for an event. */
async function deliverTo(
  start: (port: number) => Server,
  port: number,
  event: Record<string, unknown>,
  given = secret,
) {
  const receiver = start(port);
  await receiver.isListening(port);
  const tenant = await newTenant(service);
  const { body } = await tenant.create({ url: `http://127.0.0.1:${port}/webhooks`, secret: given });
  expect(body.data.status, receiver.output).toBe('active');
  const recorded = await tenant.record(event);
  await tenant.settled(body.data, 1, ({ status }) => status === 'success');
  const refused = await fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', body: '{}' });
  expect(refused.status).toBe(401);
  for (const odd of oddHeaders) {
    const { headers, ...request } = signedRequest('task.created', { secret: given, fault: 'wrong_secret' });
    const response = await fetch(`http://127.0.0.1:${port}/webhooks`, {
      ...request,
      headers: { ...headers, ...odd },
    });
    expect(response.status).toBe(401);
  }
  for (const fault of ['expired', 'tampered'] as const) {
    const request = signedRequest('task.created', { secret: given, fault });
    expect((await fetch(`http://127.0.0.1:${port}/webhooks`, request)).status).toBe(401);
  }
  return { recorded, receiver };
}

describe('the TypeScript receiver in the guide', () => {
  test('compiles in strict mode, verifies requests and handles them', async () => {
    expect(compiled.receive).toBe('');
    const port = await freePort();
    const env = { WEBHOOK_SECRET: secret, PORT: String(port) };
    const payload = { id: 'INV-7', amount_minor: 1999, currency: 'EUR' };
    const start = () => new Server(process.execPath, [workshop.path('receive.js')], env);
    const { receiver } = await deliverTo(start, port, { type: 'invoice.paid', payload });
    await eventually(
      async () => receiver.output,
      (output) => output.startsWith('INV-7 is paid: 1999 EUR\n') && output.includes('missing_signature'),
    );
  });

  test('does not compile if it reads a field that the type does not have', () => {
    expect(compiled.misspelt).toContain("'severty' does not exist");
  });

  test('supports types that the installation added', async () => {
    // On its own: a declaration holds for every program that is compiled with it.
    expect(await workshop.compile({ declared: declaration + use })).toEqual({ declared: '' });
    expect(compiled.undeclared).toContain('\'"parcel.shipped"\'');
  });

  test('is also in the README of the package, with its types', () => {
    expect(compiled.readme).toBe('');
  });
});

describe('the receiver of the guide for Node without a package', () => {
  const program = snippet(page, 'js', 'node:crypto');
  const args = (source: string) => ['--input-type=module', '--eval', source];

  test.each([secret, unpadded])('verifies requests and handles them, with the secret %s', async (given) => {
    const port = await freePort();
    const source = program.replace('3000', String(port));
    const start = () => new Server(process.execPath, args(source), { WEBHOOK_SECRET: given });
    const { recorded, receiver } = await deliverTo(start, port, { type: 'task.created' }, given);
    await eventually(
      async () => receiver.output,
      (output) => output.includes(`${recorded.id} task.created\n`),
    );
    const large = signedRequest('task.created', { secret: given, data: { title: 'x'.repeat(10 << 20) } });
    expect((await fetch(`http://127.0.0.1:${port}/webhooks`, large)).status).toBe(413);
  });

  test.each(unusableSecrets)('does not start with the secret "%s", whose key is empty', async (given) => {
    const ended = await run(process.execPath, args(program), { WEBHOOK_SECRET: given });
    expect(ended).toMatchObject({ code: 1, stderr: secretDemand });
  });
});

describe.runIf(python)(`the receiver of the guide in Python${python ? '' : ' (skipped: no python3)'}`, () => {
  test.each([secret, unpadded])('verifies requests and handles them, with the secret %s', async (given) => {
    const port = await freePort();
    const source = snippet(page, 'python', 'def verify').replace('3000', String(port));
    const start = () => new Server(python ?? '', ['-c', source], { WEBHOOK_SECRET: given });
    const { recorded, receiver } = await deliverTo(start, port, { type: 'task.created' }, given);
    await eventually(
      async () => receiver.output,
      (output) => output.includes(`${recorded.id} task.created\n`),
    );
  });

  test.each(unusableSecrets)('does not start with the secret "%s", whose key is empty', async (given) => {
    const ended = await run(python ?? '', ['-c', snippet(page, 'python', 'def verify')], {
      WEBHOOK_SECRET: given,
    });
    expect(ended).toMatchObject({ code: 1, stderr: secretDemand });
  });
});

describe.runIf(go)(`the receiver of the guide in Go${go ? '' : ' (skipped: no go here)'}`, () => {
  test('verifies requests and handles them, and does not start without a secret', async () => {
    const port = await freePort();
    const [file, program] = [workshop.path('main.go'), workshop.path('receiver')];
    await writeFile(file, snippet(page, 'go', 'func verify').replace('3000', String(port)));
    await buildGo(go ?? '', file, program);
    const start = () => new Server(program, [], { WEBHOOK_SECRET: unpadded });
    const { recorded, receiver } = await deliverTo(start, port, { type: 'task.created' }, unpadded);
    await eventually(
      async () => receiver.output,
      (output) => output.includes(recorded.id),
    );
    for (const given of unusableSecrets) {
      const ended = await run(program, [], { WEBHOOK_SECRET: given });
      expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining(secretDemand) });
    }
  }, 180_000);
});

/** Without optimizing the compiler that runs a source file, whose start takes most of the time. */
const startsFast = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];
const others = [
  { language: 'java', having: 'keyOf', args: (file: string) => [...startsFast, file] },
  { language: 'ruby', having: 'key_of', args: (file: string) => [file] },
  {
    language: 'php',
    having: 'keyOf',
    args: (file: string, port: number) => ['-S', `127.0.0.1:${port}`, file],
  },
];

describe.each(others)('the receiver of the console in $language', async ({ language, having, args }) => {
  const isHere = await firstThatRuns([language], ['--version']);
  const framework = frameworks.find(({ key }) => key === language)!;

  /** Writes a program with this secret in it, and returns the arguments that start it. */
  async function written(given: string | undefined, port: number) {
    const place = { path: '/webhooks', port: String(port) };
    const file = workshop.path(framework.file(place));
    await writeFile(file, framework.code(given, place));
    return args(file, port);
  }

  test('has the functions of the guide', () => {
    const program = framework.code(undefined, { path: '/webhooks', port: '3000' });
    const ofClass = program.replace(/^ {2}/gm, '');
    expect(program + ofClass).toContain(snippet(page, language, having));
  });

  test.runIf(isHere)('verifies requests with its secret, or with the one in its environment', async () => {
    for (const [own, env, given] of [
      [secret, {}, secret],
      [undefined, { WEBHOOK_SECRET: unpadded }, unpadded],
    ] as const) {
      const port = await freePort();
      const program = await written(own, port);
      const start = () => new Server(language, program, env);
      const { recorded, receiver } = await deliverTo(start, port, { type: 'task.created' }, given);
      await eventually(
        async () => receiver.output,
        (output) => output.includes(recorded.id),
      );
    }
  });

  test.runIf(isHere)('accepts nothing without a secret', async () => {
    const port = await freePort();
    const program = await written(undefined, port);
    if (language !== 'php') {
      const ended = unusableSecrets.map((given) => run(language, program, { WEBHOOK_SECRET: given }));
      for (const { code } of await Promise.all(ended)) expect(code).toBe(1);
      return;
    }
    await new Server(language, program, { WEBHOOK_SECRET: 'whsec_...' }).isListening(port);
    const sentAt = String(Math.floor(Date.now() / 1_000));
    const signature = createHmac('sha256', '').update(`EVT-1.${sentAt}.{}`).digest('base64');
    const headers = {
      'webhook-id': 'EVT-1',
      'webhook-timestamp': sentAt,
      'webhook-signature': `v1,${signature}`,
    };
    const url = `http://127.0.0.1:${port}/webhooks`;
    expect((await fetch(url, { method: 'POST', headers, body: '{}' })).status).toBe(401);
  });
});
