import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Database } from '../../src/postgres/database.js';
import { command } from '../support/command.js';
import { postgresPrograms, startPostgres, startStandby } from '../support/postgres-programs.js';
import { startReceiver } from '../support/receiver.js';
import { startTestService, type TestService } from '../support/service.js';
import { snippet } from '../support/snippets.js';
import { eventually, newTenant, Tenant } from '../support/tenant.js';

if (!postgresPrograms) console.warn('no PostgreSQL is installed: the guide "Split a cell" is not followed');

const sqlOf = (having: string) => snippet('docs/scale.md', 'sql', having);

describe.runIf(postgresPrograms)('a cell that is split as docs/scale.md describes', () => {
  it('serves each organization in one cell, and nothing is lost or sent from both', async () => {
    const key = { POSTHORN_SECRET_KEY: randomBytes(32).toString('base64'), POSTHORN_RETRY_SCHEDULE: '1h' };
    const primary = await startPostgres();
    const eastUrl = primary.url('first');
    let east = await startTestService({ ...key, POSTHORN_CELL: 'east', DATABASE_URL: eastUrl });
    const own = (service: TestService) =>
      newTenant(service, { organization_id: `ORG-${randomBytes(4).toString('hex')}` });
    const [leaves, stays] = [await own(east), await own(east)];
    const receivers = new Map<Tenant, Awaited<ReturnType<typeof startReceiver>>>();
    const webhooks = new Map<Tenant, { id: string }>();
    for (const tenant of [leaves, stays]) {
      const receiver = await startReceiver();
      receivers.set(tenant, receiver);
      webhooks.set(tenant, await tenant.webhook(receiver));
      await tenant.record();
      await receiver.deliveries.nth(1);
      receiver.onDelivery = 503;
      await tenant.record();
      await tenant.settled(webhooks.get(tenant)!, 2);
    }

    const standby = await startStandby(async (data, account) => {
      const [backup = ''] = snippet('docs/scale.md', 'sh', 'pg_basebackup').trim().split('\n');
      const env = { PATH: `${postgresPrograms}:${process.env.PATH}`, PGDATA: data, EAST_URL: eastUrl };
      execFileSync('sh', ['-c', backup], { ...account, cwd: '/', env });
    });
    const southUrl = standby.url('first');
    await east.stop();
    const [eastDatabase, southDatabase] = [eastUrl, southUrl].map(
      (connectionString) => new Database({ connectionString }, 1),
    ) as [Database, Database];
    // What the nodes had no time to attempt.
    for (const { organization } of [leaves, stays])
      await eastDatabase.query({
        text: 'select posthorn.record_event($1, $2, $3, $3, $4)',
        values: [
          'invoice.paid',
          organization,
          '{"type": "user", "id": "USR-1"}',
          '{"invoice_id": "INV-1", "amount": "1.00", "currency": "EUR", "paid_at": "2026-01-01T00:00:00Z"}',
        ],
      });

    const stopped = await eastDatabase.query<{ stopped_at: string }>({ text: sqlOf('stopped_at') });
    const isComplete = sqlOf('is_complete').replace('0/0', stopped.rows[0]!.stopped_at);
    await eventually(
      async () =>
        (await southDatabase.query<{ is_complete: boolean }>({ text: isComplete })).rows[0]!.is_complete,
      (complete) => complete,
    );
    await southDatabase.query({ text: sqlOf('pg_promote') });
    const named = (sql: string) => sql.replaceAll('ORG-acme', leaves.organization);
    const results = (await southDatabase.query<{ id: string }>({
      text: named(sqlOf('create temp table east')),
    })) as unknown as {
      rows: { id: string }[];
    }[];
    const id = results.at(-1)!.rows[0]!.id;
    await eastDatabase.query({
      text: named(sqlOf("'south', '00000000")).replace('00000000-0000-0000-0000-000000000000', id),
    });
    await Promise.all([eastDatabase.close(), southDatabase.close()]);

    const counts = () =>
      new Map([...receivers].map(([tenant, { deliveries }]) => [tenant, deliveries.count]));
    const before = counts();
    for (const receiver of receivers.values()) receiver.onDelivery = 200;
    // The cell without the organizations that stay could send what was waiting for them, if it did not know better.
    const south = await startTestService({ ...key, POSTHORN_CELL: 'south', DATABASE_URL: southUrl });
    const moved = new Tenant(south, leaves.organization, leaves.token);
    await moved.bringForward(webhooks.get(leaves)!);
    await new Tenant(south, stays.organization, stays.token).bringForward(webhooks.get(stays)!);
    await moved.settled(webhooks.get(leaves)!, 3, ({ status }) => status === 'success');
    expect(counts()).toEqual(
      new Map([
        [leaves, before.get(leaves)! + 2],
        [stays, before.get(stays)!],
      ]),
    );
    east = await startTestService({ ...key, POSTHORN_CELL: 'east', DATABASE_URL: eastUrl });
    const stayed = new Tenant(east, stays.organization, stays.token);
    await new Tenant(east, leaves.organization, leaves.token).bringForward(webhooks.get(leaves)!);
    await stayed.bringForward(webhooks.get(stays)!);
    await stayed.settled(webhooks.get(stays)!, 3, ({ status }) => status === 'success');
    expect(counts()).toEqual(
      new Map([
        [leaves, before.get(leaves)! + 2],
        [stays, before.get(stays)! + 2],
      ]),
    );

    for (const [tenant, there, cell] of [
      [leaves, east, 'south'],
      [stays, south, 'east'],
    ] as const) {
      const { status, body } = await new Tenant(there, tenant.organization, tenant.token).request(
        'GET',
        '/v1/webhooks',
      );
      expect([status, body.cell]).toEqual([421, cell]);
      const args = ['organization', 'forget', tenant.organization, '--yes', '--now'];
      const urls = { east: eastUrl, south: southUrl } as const;
      const here = there === east ? 'east' : 'south';
      const forgotten = await command([...args, '--to', urls[cell]], { ...key, DATABASE_URL: urls[here] });
      expect(forgotten).toMatchObject({ code: 0, stderr: '' });
    }
    expect(await moved.events()).toHaveLength(3);
    expect(await stayed.events()).toHaveLength(3);
  });
});
