import { createHmac } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { verifyChain } from '../../src/audit/chain-store.js';
import { freshDatabase } from '../support/database.js';
import { startReceiver } from '../support/receiver.js';
import { startTestService } from '../support/service.js';
import { eventually, Tenant } from '../support/tenant.js';

/** Kept by deploy/keep-version.js with each release: a database that the version has used, and how to use it. */
interface Kept {
  secretKey: string;
  organization_id: string;
  token: string;
  secret: string;
  headers: Record<string, string>;
  webhook: string;
  delivered: string[];
  waiting: string;
  serviceLine: string;
  entries: number;
  sql: string;
}

const folder = new URL('../fixtures/versions/', import.meta.url);

it.each(readdirSync(folder))('a database of version %s is upgraded, and everything goes on', async (file) => {
  const kept = JSON.parse(gunzipSync(readFileSync(new URL(file, folder))).toString()) as Kept;
  const { url, database } = await freshDatabase(true);
  await database.query({ text: kept.sql });
  const receiver = await startReceiver();
  await database.query({ text: 'update posthorn.webhooks set url = $1', values: [receiver.url] });

  const service = await startTestService({
    ...{ DATABASE_URL: url, POSTHORN_SECRET_KEY: kept.secretKey },
    // The database is as old as the version.
    POSTHORN_EVENT_RETENTION: '3650d',
  });
  const tenant = new Tenant(service, kept.organization_id, kept.token);
  const webhook = { id: kept.webhook };

  const events = await tenant.events();
  expect(events.map(({ id }) => id)).toEqual(expect.arrayContaining([...kept.delivered, kept.waiting]));
  const before = await tenant.deliveries(webhook);
  // The waiting one is due since long ago, and may have arrived by now.
  const delivered = before.filter(
    ({ event_id, status }) => status === 'success' && event_id !== kept.waiting,
  );
  expect(delivered).toHaveLength(kept.delivered.length + 1);
  const line = await service.database.query<{ status: string }>({
    text: 'select status from posthorn.resources where id = $1',
    values: [kept.serviceLine],
  });
  expect(line.rows).toEqual([{ status: 'active' }]);

  await tenant.bringForward(webhook);
  const arrived = await receiver.deliveries.nth(1);
  expect(arrived.envelope.id).toBe(kept.waiting);
  expect(arrived.headers).toMatchObject(kept.headers);
  const signature = createHmac('sha256', kept.secret).update(arrived.body).digest('hex');
  expect(arrived.headers['x-service-signature']).toBe(`sha256=${signature}`);

  const added = await tenant.record();
  await receiver.deliveries.nth(2);
  await eventually(
    () => tenant.deliveries(webhook),
    (list) => list.some(({ event_id, status }) => event_id === added.id && status === 'success'),
  );
  // What was delivered before the upgrade was not sent again.
  expect(receiver.deliveries.all.map(({ envelope }) => envelope.id).sort()).toEqual(
    [kept.waiting, added.id].sort(),
  );

  const entries = await tenant.request(
    'GET',
    `/v1/audit-logs?organization_id=${tenant.organization}&limit=100`,
  );
  expect(entries.body.data).toHaveLength(kept.entries);
  expect(await verifyChain(service.database, tenant.organization)).toMatchObject({ entries: kept.entries });
});
