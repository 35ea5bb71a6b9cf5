import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signedRequest, signedWebRequest } from '@posthorn/receiver/testing';
import pg from 'pg';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { root } from '../../packages/server/test/support/docs.js';
import { sharedService } from '../../packages/server/test/support/service.js';
import {
  buildGo,
  firstThatRuns,
  freePort,
  oddHeaders,
  run,
  Server,
  secretDemand,
  unusableSecrets,
} from '../../packages/server/test/support/snippets.js';
import { eventually, newTenant } from '../../packages/server/test/support/tenant.js';

const examples = join(root, 'examples');
const service = await sharedService();
const directory = await mkdtemp(join(tmpdir(), 'posthorn-examples-'));
afterAll(() => rm(directory, { recursive: true, force: true }));
const flask = await firstThatRuns(['python3', '/usr/bin/python3'], ['-c', 'import flask']);
const redisServer = await firstThatRuns(['redis-server', '/usr/bin/redis-server'], ['--version']);
const go = await firstThatRuns(['go', '/usr/local/go/bin/go'], ['version']);

const secrets = [
  'a-secret-of-the-examples',
  // Without its padding, as Standard Webhooks libraries accept it.
  `whsec_${Buffer.alloc(32, 7).toString('base64').replace('=', '')}`,
];

/** What a receiver prints when it ends without having started, for each secret with an empty key. */
const startWithout = (file: string, args: readonly string[] = []) =>
  Promise.all(unusableSecrets.map((secret) => run(file, args, { WEBHOOK_SECRET: secret })));

const notStarted = unusableSecrets.map(() => ({ code: 1, stderr: expect.stringContaining(secretDemand) }));

/** Subscribes a receiver, and returns what it prints about an event. Then it must refuse what is not signed. */
async function exercise(file: string, args: readonly string[], secret: string, env = {}): Promise<string> {
  const port = await freePort();
  const receiver = new Server(file, args, { PORT: String(port), WEBHOOK_SECRET: secret, ...env });
  await receiver.isListening(port);
  const url = `http://127.0.0.1:${port}/webhooks`;
  const tenant = await newTenant(service);
  const { body } = await tenant.create({ url, secret });
  expect(body.data.status, receiver.output).toBe('active');
  const payload = { id: 'INV-ü', amount_minor: 1999, currency: 'EUR' };
  await tenant.record({ type: 'invoice.paid', payload });
  await tenant.settled(body.data, 1, ({ status }) => status === 'success');
  for (const fault of ['unsigned', 'wrong_secret', 'tampered', 'expired'] as const) {
    expect((await fetch(url, signedRequest('invoice.paid', { secret, fault }))).status).toBe(401);
  }
  for (const odd of oddHeaders) {
    const { headers, ...request } = signedRequest('invoice.paid', { secret, fault: 'wrong_secret' });
    expect((await fetch(url, { ...request, headers: { ...headers, ...odd } })).status).toBe(401);
  }
  return eventually(
    async () => receiver.output,
    (output) => output.includes('is paid'),
  );
}

describe.each(['express', 'fastify', 'hono'])('the receiver in %s', (name) => {
  test('is verified, handles an event and refuses what is not signed', async () => {
    const file = join(examples, name, 'receiver.mjs');
    const printed = await exercise(process.execPath, [file], secrets[0]!);
    expect(printed).toContain('INV-ü is paid: 1999 EUR\n');
  });
});

test('the route of Next.js handles an event and refuses what is not signed', async () => {
  const secret = secrets[0]!;
  vi.stubEnv('WEBHOOK_SECRET', secret);
  const log = vi.spyOn(console, 'log').mockReturnValue();
  vi.spyOn(console, 'warn').mockReturnValue();
  onTestFinished(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });
  const { POST } = await import('../next/app/webhooks/route.js');
  const post = async (...[type, options]: Parameters<typeof signedRequest>) =>
    (await POST(signedWebRequest('http://localhost:3000/webhooks', type, options))).status;
  expect(await post('webhook.verification', { secret })).toBe(200);
  expect(await post('incident.opened', { secret, envelope: { id: 'EVT-1' } })).toBe(200);
  expect(await post('incident.opened', { secret, envelope: { id: 'EVT-1' } })).toBe(200);
  expect(await post('incident.opened', { secret, fault: 'tampered' })).toBe(401);
  expect(log.mock.calls).toEqual([[expect.stringMatching(/^incident\.opened: INC-\w+ \(p\d\)$/)]]);
});

test('the receiver with a transaction handles an event once, however often it comes', async () => {
  const database = new pg.Client({ connectionString: service.databaseUrl });
  await database.connect();
  onTestFinished(() => database.end());
  const port = await freePort();
  const [secret = ''] = secrets;
  const env = { PORT: String(port), WEBHOOK_SECRET: secret, DATABASE_URL: service.databaseUrl };
  const receiver = new Server(process.execPath, [join(examples, 'exactly-once/receiver.mjs')], env);
  await receiver.isListening(port);
  const send = async (data: Record<string, unknown>) => {
    const request = signedRequest('invoice.paid', { secret, data, envelope: { id: 'EVT-1' } });
    return (await fetch(`http://127.0.0.1:${port}/webhooks`, request)).status;
  };
  // The work fails, so the event does not count as handled.
  expect(await send({ id: 'INV-1', amount_minor: 'not a number' })).toBe(500);
  const data = { id: 'INV-1', amount_minor: 1999 };
  expect(await Promise.all([send(data), send(data), send(data)])).toEqual([200, 200, 200]);
  const { rows } = await database.query('select invoice_id, amount_minor from payments');
  expect(rows).toEqual([{ invoice_id: 'INV-1', amount_minor: '1999' }]);
});

describe.runIf(redisServer)(
  `the receiver with Redis${redisServer ? '' : ' (skipped: no redis-server here)'}`,
  () => {
    test('handles an event once among processes', async () => {
      const redisPort = await freePort();
      const flags = ['--port', String(redisPort), '--dir', directory, '--save', '', '--appendonly', 'no'];
      await new Server(redisServer ?? '', flags, {}).isListening(redisPort);
      const [secret = ''] = secrets;
      const start = async () => {
        const port = await freePort();
        const env = {
          PORT: String(port),
          WEBHOOK_SECRET: secret,
          REDIS_URL: `redis://127.0.0.1:${redisPort}`,
        };
        await new Server(process.execPath, [join(examples, 'redis/receiver.mjs')], env).isListening(port);
        return async () => {
          const request = signedRequest('invoice.paid', { secret, envelope: { id: 'EVT-1' } });
          const response = await fetch(`http://127.0.0.1:${port}/webhooks`, request);
          return `${response.status} ${await response.text()}`;
        };
      };
      const [one, other] = [await start(), await start()];
      expect([await one(), await other(), await one()]).toEqual([
        '200 handled',
        '200 duplicate',
        '200 duplicate',
      ]);
    });
  },
);

describe.runIf(flask)(
  `the receiver in Flask${flask ? '' : ' (skipped: no python3 here can import flask)'}`,
  () => {
    test.each(secrets)(
      'is verified, handles an event and refuses what is not signed, with %s',
      async (secret) => {
        const file = join(examples, 'flask/receiver.py');
        expect(await exercise(flask ?? '', [file], secret)).toContain('INV-ü is paid: 1999 EUR\n');
      },
    );

    test('does not start without a secret', async () => {
      expect(await startWithout(flask ?? '', [join(examples, 'flask/receiver.py')])).toMatchObject(
        notStarted,
      );
    });
  },
);

describe.runIf(go)(`the receiver in Go${go ? '' : ' (skipped: no go here)'}`, async () => {
  test('is verified, handles an event, refuses what is not signed, and does not start without a secret', async () => {
    const program = join(directory, 'receiver');
    await buildGo(go ?? '', join(examples, 'go/receiver.go'), program);
    for (const secret of secrets) {
      expect(await exercise(program, [], secret)).toContain('INV-ü is paid: 1999 EUR\n');
    }
    expect(await startWithout(program)).toMatchObject(notStarted);
  }, 180_000);
});
