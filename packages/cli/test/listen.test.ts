import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { verify } from '@posthorn/receiver';
import { describe, expect, test, vi } from 'vitest';
import { event } from '../../server/test/support/client.js';
import { freshServiceDatabase } from '../../server/test/support/database.js';
import { Posthorn, program } from '../../server/test/support/process.js';
import { startReceiver } from '../../server/test/support/receiver.js';
import { recordText } from '../../server/test/support/recording.js';
import { makeToken, sharedService, startTestService } from '../../server/test/support/service.js';
import { newTenant } from '../../server/test/support/tenant.js';
import { freshDirectory, run, start } from './support/cli.js';

const secret = 'a-secret-of-the-listener';
const unsigned = ['webhook-timestamp', 'webhook-signature', 'x-service-delivery', 'connection'];

describe('listen', async () => {
  const service = await sharedService();

  async function listener(...args: string[]) {
    const tenant = await newTenant(service);
    const env = {
      ...{ POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: tenant.token, NO_COLOR: '1' },
      XDG_CONFIG_HOME: await freshDirectory(),
    };
    const listen = async (...more: string[]) => {
      const listening = start(['listen', '--secret', secret, ...args, ...more], env);
      await listening.until(/Listening for/);
      return listening;
    };
    return { tenant, env, listen };
  }

  test.each(['envelope', 'event', 'thin', 'cloudevents'])(
    'forwards an event with the bytes and headers of a real delivery in the format %s',
    async (format) => {
      const forwarded = await startReceiver();
      const { tenant, listen } = await listener('--forward-to', forwarded.url, '--format', format);
      const { receiver } = await tenant.connect(200, { secret, format });
      await listen();
      const payload =
        '{ "id": "INV-1",\t"amount_minor": 100, "rate": 1.10, "big": 12345678901234567890, "u": "\\u00e9ü" }';
      const given = JSON.stringify([event({ organization_id: tenant.organization, payload: 'PAYLOAD' })]);
      await recordText(service.database, given.replace('"PAYLOAD"', payload));
      const [real, local] = [await receiver.deliveries.nth(1), await forwarded.deliveries.nth(1)];
      expect(local.body.toString()).toBe(real.body.toString());
      const stable = (headers: object) =>
        Object.fromEntries(Object.entries(headers).filter(([name]) => ![...unsigned, 'host'].includes(name)));
      expect(stable(local.headers)).toEqual(stable(real.headers));
      expect(Object.keys(local.headers).sort()).toEqual(Object.keys(real.headers).sort());
      expect(verify(local.body, local.headers, secret)).toMatchObject({
        ok: true,
        signedAt: expect.any(Date),
      });
    },
  );

  test('prints status and time, and what a failing receiver said with a command that sends it again', async () => {
    const receiver = await startReceiver({ onDelivery: { status: 500, body: 'database is locked' } });
    const { tenant, env, listen } = await listener('--forward-to', receiver.url);
    const listening = await listen();
    const { id } = await tenant.record();
    await listening.until(
      new RegExp(
        `^\\d\\d:\\d\\d:\\d\\dZ  invoice\\.paid +${id}  500 in \\d+ ms\n +database is locked\n`,
        'm',
      ),
    );
    await listening.until(new RegExp(`posthorn trigger ${id} --to ${receiver.url} --secret ${secret}\n`));
    const { code, stdout } = await listening.stop();
    expect(code).toBe(0);
    receiver.onDelivery = 200;
    const [, again = ''] = /Send it again: posthorn (.*)/.exec(stdout) ?? [];
    expect((await run(again.split(' '), env)).code).toBe(0);
    const { body, headers } = receiver.deliveries.last;
    expect(verify(body, headers, secret)).toMatchObject({ ok: true });
  });

  test('forwards only the chosen events, and saves requests that verify reads', async () => {
    const receiver = await startReceiver();
    const directory = await freshDirectory();
    const { tenant, env, listen } = await listener('--events', 'task.*,invoice.paid', '--save', directory);
    const listening = await listen('--forward-to', receiver.url);
    await tenant.record({ type: 'invoice.voided' });
    const paid = await tenant.record();
    await listening.until(new RegExp(paid.id));
    expect(receiver.deliveries.all.map(({ envelope }) => envelope.id)).toEqual([paid.id]);
    expect(await readdir(directory)).toEqual([`${paid.id}.http`]);
    const file = join(directory, `${paid.id}.http`);
    expect(await readFile(file, 'utf8')).toMatch(/^POST \/hook HTTP\/1\.1\r\n/);
    expect((await run(['verify', '--secret', secret, '--request', file], env)).code).toBe(0);
  });

  test('fails with the name of the file if its position or its secret cannot be written', async () => {
    const { env } = await listener();
    const directory = join(env.XDG_CONFIG_HOME, 'posthorn');
    await mkdir(directory);
    await writeFile(join(directory, 'listen'), '');
    const failed = (file: string) =>
      new RegExp(`^Cannot write ${directory}/${file}: .*\\. Check that its directory is writable and`);
    const unstored = await run(['listen', '--secret', secret], env);
    expect(unstored).toMatchObject({ code: 1, stderr: expect.stringMatching(failed('listen/\\w+\\.json')) });
    expect(unstored.stdout).toBe(`Signing secret: ${secret}\n`);
    await mkdir(join(directory, `listen-secret.${process.pid}`));
    const unkept = await run(['listen'], env);
    expect(unkept).toMatchObject({
      ...{ code: 1, stdout: '', stderr: expect.stringMatching(failed('listen-secret')) },
    });
  });

  test('--json ends when its reader has gone away, and the next run starts with the first event that was not written', async () => {
    const { tenant, env } = await listener();
    const [first] = [await tenant.record(), await tenant.record(), await tenant.record()];
    const { PATH = '' } = process.env;
    const listening = spawn(process.execPath, [program, 'listen', '--json', '--from', first.id], {
      env: { PATH, ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    listening.stdout.destroy();
    expect(await once(listening, 'exit')).toEqual([0, null]);
    const directory = join(env.XDG_CONFIG_HOME, 'posthorn', 'listen');
    const [file = ''] = await readdir(directory);
    const position = JSON.parse(await readFile(join(directory, file), 'utf8'));
    expect(position.last_event_id).toBe(first.id);
  });

  test('refuses a pattern that matches no event type', async () => {
    const { env } = await listener();
    const { code, stderr } = await run(['listen', '--events', 'invoce.*'], env);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: "No event type matches 'invoce.*'. Run posthorn types to list all types.\n",
    });
  });

  test('--from now skips what was recorded while it was not running', async () => {
    const { tenant, listen } = await listener();
    await (await listen()).stop();
    const missed = await tenant.record();
    const resumed = await listen();
    await resumed.until(new RegExp(missed.id));
    await resumed.stop();
    const skipped = await tenant.record();
    const fresh = await listen('--from', 'now');
    const seen = await tenant.record();
    await fresh.until(new RegExp(seen.id));
    expect((await fresh.stop()).stdout).not.toContain(skipped.id);
  });

  test('--workspace has a position of its own, so events of other workspaces are not skipped afterwards', async () => {
    const { tenant, listen } = await listener();
    await (await listen()).stop();
    const missed = await tenant.record({ workspace_id: 'WS-a' });
    const ofWorkspace = await listen('--workspace', 'WS-b');
    const seen = await tenant.record({ workspace_id: 'WS-b' });
    await ofWorkspace.until(new RegExp(seen.id));
    expect((await ofWorkspace.stop()).stdout).not.toContain(missed.id);
    await (await listen()).until(new RegExp(missed.id));
  });
});

test('listen loses and repeats nothing across restarts of the service and of itself', async () => {
  const total = 250;
  const { database, url: DATABASE_URL } = await freshServiceDatabase();
  const token = await makeToken(database);
  const service = await startTestService({ DATABASE_URL });
  const POSTHORN_PORT = new URL(service.publicUrl).port;
  const receiver = await startReceiver();
  const env = {
    POSTHORN_URL: service.publicUrl,
    POSTHORN_TOKEN: token,
    XDG_CONFIG_HOME: await freshDirectory(),
  };
  const listen = () => new Posthorn(['listen', '--forward-to', receiver.url], env);
  let listener = listen();
  await listener.until(/Listening for/);

  const recorded: string[] = [];
  const producing = (async () => {
    while (recorded.length < total) {
      const events = Array.from({ length: 25 }, () => event());
      recorded.push(...(await recordText(database, JSON.stringify(events))).map(({ id }) => id));
      // Stays a little ahead of the listener, so that both restarts happen under way.
      await vi.waitFor(() => expect(receiver.deliveries.all.length).toBeGreaterThan(recorded.length - 150), {
        ...{ timeout: 60_000, interval: 5 },
      });
    }
  })();

  await receiver.deliveries.nth(50);
  listener.kill('SIGTERM');
  expect((await listener.ended).code).toBe(0);
  listener = listen();
  await listener.until(/Listening for/);
  await receiver.deliveries.nth(100);
  await service.stop();
  await listener.until(/^Connection lost/m);
  await startTestService({ DATABASE_URL, POSTHORN_PORT });
  await producing;
  await receiver.deliveries.nth(total);
  listener.kill('SIGINT');
  expect((await listener.ended).code).toBe(0);
  expect(receiver.deliveries.all.map(({ envelope }) => envelope.id)).toEqual(recorded);
}, 300_000);
