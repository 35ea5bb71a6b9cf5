import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Database } from '../../src/postgres/database.js';
import { event } from '../support/client.js';
import { postgresPrograms, startPostgres } from '../support/postgres-programs.js';
import { startReceiver } from '../support/receiver.js';
import { startTestService } from '../support/service.js';
import { run, snippet } from '../support/snippets.js';
import { eventually, newTenant, Tenant } from '../support/tenant.js';

if (!postgresPrograms)
  console.warn('no PostgreSQL with pg_dump is installed: the backup guide is not followed');

describe.runIf(postgresPrograms)('a dump that is restored elsewhere, as docs/operate.md describes', () => {
  it('is complete: nothing is lost, and nothing that was settled is sent again', async () => {
    const { directory, url } = await startPostgres();
    const settings = {
      POSTHORN_SECRET_KEY: randomBytes(32).toString('base64'),
      POSTHORN_RETRY_SCHEDULE: '1h',
    };
    const before = await startTestService({ ...settings, DATABASE_URL: url('first') });
    const tenant = await newTenant(before, {
      scopes: ['events:read', 'webhooks:read', 'webhooks:write', 'audit:read'],
    });
    const receiver = await startReceiver();
    const webhook = await tenant.webhook(receiver);

    // Three are delivered, two wait for a retry, and one waits for its first attempt.
    for (let n = 0; n < 3; n += 1) await tenant.record();
    await tenant.settled(webhook, 3, ({ status }) => status === 'success');
    receiver.onDelivery = 503;
    for (let n = 0; n < 2; n += 1) await tenant.record();
    await tenant.settled(webhook, 5);
    await before.stop();
    await recordWithoutNode(url('first'), tenant.organization);
    const settled = new Set(receiver.deliveries.all.slice(0, 3).map(({ envelope }) => envelope.id));

    const [dump] = commandsOf('--file=posthorn.dump');
    const [restore, serve] = commandsOf('"$NEW_DATABASE_URL" posthorn.dump');
    const env = {
      PATH: `${postgresPrograms}:${process.env.PATH}`,
      ...{ DATABASE_URL: url('first'), NEW_DATABASE_URL: url('second') },
    };
    for (const command of [dump, restore])
      expect(await run('sh', ['-c', `cd '${directory}'; ${command}`], env)).toMatchObject({ code: 0 });
    expect(serve).toBe('DATABASE_URL="$NEW_DATABASE_URL" npx posthorn serve');

    receiver.onDelivery = 200;
    const sentBefore = receiver.deliveries.count;
    const after = await startTestService({ ...settings, DATABASE_URL: url('second') });
    const restored = new Tenant(after, tenant.organization, tenant.token);
    await restored.bringForward(webhook);
    const deliveries = await restored.settled(webhook, 6, ({ status }) => status === 'success');
    expect(new Set(deliveries.map(({ event_id }) => event_id)).size).toBe(6);
    expect(await restored.events()).toHaveLength(6);
    const sent = receiver.deliveries.all.slice(sentBefore).map(({ envelope }) => envelope.id);
    expect(sent).toHaveLength(3);
    expect(sent.filter((id) => settled.has(id))).toEqual([]);
    const audit = await restored.data('GET', `/v1/audit-logs?organization_id=${tenant.organization}`);
    expect(audit.map(({ action }: { action: string }) => action)).toEqual(['webhook.created']);
    // Recording goes on where it ended.
    await restored.record();
    await eventually(
      () => restored.deliveries(webhook),
      (list) => list.length === 7,
    );
  });
});

/** Returns the commands of the block of the guide that has this text in it. */
const commandsOf = (having: string) => snippet('docs/operate.md', 'sh', having).trim().split('\n');

/** Records one event as a program of the platform does in SQL, while no node runs. */
async function recordWithoutNode(url: string, organization_id: string): Promise<void> {
  const database = new Database({ connectionString: url }, 1);
  await database.query({
    text: 'select posthorn.record_events($1)',
    values: [JSON.stringify([event({ organization_id })])],
  });
  await database.close();
}
