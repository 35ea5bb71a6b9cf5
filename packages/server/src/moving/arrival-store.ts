import type { NewAuditEntry } from '../audit/audit.js';
import { writeAudit } from '../audit/audit-store.js';
import { MoveTakenOver, type OrganizationMove, requireState } from '../cells/relocation-store.js';
import type { Database, Queryable } from '../postgres/database.js';
import { ensurePartitions } from '../postgres/partitions.js';
import { verifyAgain } from '../webhooks/probe-store.js';
import { readSecretsOf, type Sealed, type SealedSecrets } from '../webhooks/secret-store.js';
import { releaseDeliveries } from './draining-store.js';
import { useCopySettings } from './row-copy-store.js';

/** Encrypts the secrets of a webhook with the key of the other cell. */
export type Reencrypt = (webhook: SealedSecrets) => Sealed;

/**
 * The tables whose rows would take effect as soon as they were copied. Each table comes after those that its rows refer
 * to.
 */
const staged = ['webhooks', 'webhook_health', 'tokens', 'replays', 'request_keys', 'event_counts'] as const;

/**
 * Stages the rows of a stopped organization that would take effect as soon as they were copied: stores them as text in
 * the new cell. Replaces what an earlier try staged.
 */
export async function stageRows(
  from: Database,
  to: Database,
  move: OrganizationMove,
  firstDay: string,
  reencrypt: Reencrypt,
): Promise<void> {
  const rows = await from.transaction(async (client) => {
    await client.query({ text: 'set transaction isolation level repeatable read' });
    await useCopySettings(client);
    return readRows(client, move.organizationId, firstDay, reencrypt);
  }, true);
  await to.transaction(async (client) => {
    await requireState(client, move, 'arriving');
    await client.query({
      text: 'delete from posthorn.arrivals where organization_id = $1',
      values: [move.organizationId],
    });
    await client.query({
      text: `
  insert into posthorn.arrivals (organization_id, relation, content)
  select $1, r.relation, r.content from unnest($2::text[], $3::text[]) as r (relation, content)`,
      values: [move.organizationId, rows.map(({ relation }) => relation), rows.map(({ content }) => content)],
    });
    const times = rows.flatMap(({ at_ms }) => (at_ms === null ? [] : [Number(at_ms)]));
    await ensurePartitions(client, 'event_counts', times);
  }, true);
}

interface StagedRow {
  relation: string;
  content: string;
  /** The start of the counted period, in milliseconds. Null for rows of other tables. */
  at_ms: string | null;
}

async function readRows(
  client: Queryable,
  organizationId: string,
  firstDay: string,
  reencrypt: Reencrypt,
): Promise<StagedRow[]> {
  const secrets = await readSecretsOf(client, 'webhooks', organizationId);
  const reencrypted = secrets.map((webhook) => hexOf(reencrypt(webhook)));
  const { rows } = await client.query<StagedRow>({
    text: `
  select 'webhooks' as relation, jsonb_populate_record(w, s.sealed)::text as content, null as at_ms
    from posthorn.webhooks w
    join unnest($3::text[], $4::jsonb[]) as s (id, sealed) on s.id = w.id
   where w.organization_id = $1
   union all
  select 'webhook_health', t::text, null from posthorn.webhook_health t where organization_id = $1
   union all
  select 'tokens', t::text, null from posthorn.tokens t where organization_id = $1
   union all
  select 'replays', t::text, null from posthorn.replays t where organization_id = $1
   union all
  -- Leaves out requests without a response, which cannot finish in the other cell.
  select 'request_keys', t::text, null from posthorn.request_keys t where organization_id = $1 and status is not null
   union all
  select 'event_counts', t::text, (extract(epoch from t.at) * 1000)::text
    from posthorn.event_counts t
   where organization_id = $1 and t.at >= $2::timestamptz
   union all
  select 'counted_until', counted_until::text, null from posthorn.event_count_progress`,
    values: [organizationId, firstDay, secrets.map(({ id }) => id), reencrypted],
  });
  return rows;
}

function hexOf(sealed: Sealed): string {
  const hex = (bytes: Buffer | null) => (bytes === null ? null : `\\x${bytes.toString('hex')}`);
  const { secret, previous_secret, headers } = sealed;
  return JSON.stringify({
    secret: hex(secret),
    previous_secret: hex(previous_secret),
    headers: hex(headers),
  });
}

/**
 * Activates an organization that has left its old cell. In one transaction, inserts its staged rows, makes its
 * deliveries available to the nodes, and writes an audit log entry about the move.
 */
export async function activate(
  database: Database,
  move: OrganizationMove,
  firstDay: string,
  entry: NewAuditEntry,
): Promise<void> {
  const { organizationId } = move;
  await database.transaction(async (client) => {
    await useCopySettings(client);
    const { rowCount } = await client.query({
      text: `
  delete from posthorn.relocations where organization_id = $1 and move = $2 and state = 'arriving'`,
      values: [organizationId, move.id],
    });
    if (rowCount !== 1) throw new MoveTakenOver();
    // Keeps the nodes from counting events until the commit, because their counts for the organization would conflict
    // with the staged ones.
    await client.query({ text: 'select from posthorn.event_count_progress for update' });
    // If the organization lived here before, its old tokens were kept so that requests with them could be refused.
    await client.query({
      text: 'delete from posthorn.tokens where organization_id = $1',
      values: [organizationId],
    });
    // The nodes here may have counted events that were copied.
    await client.query({
      text: 'delete from posthorn.event_counts where organization_id = $1 and at >= $2::timestamptz',
      values: [organizationId, firstDay],
    });
    for (const table of staged) {
      await client.query({
        text: `
  insert into posthorn.${table}
  select r.*
    from unnest(array(select a.content::posthorn.${table} from posthorn.arrivals a
                       where a.organization_id = $1 and a.relation = $2)) r`,
        values: [organizationId, table],
      });
    }
    await verifyAgain(client, organizationId);
    await adjustCounts(client, organizationId);
    await client.query({
      text: 'delete from posthorn.arrivals where organization_id = $1',
      values: [organizationId],
    });
    await releaseDeliveries(client, organizationId);
    await writeAudit(client, [entry]);
  }, true);
}

/**
 * Adjusts the event counts to the time up to which this cell has counted. If the old cell had not counted that far,
 * adds the events in between. If it had counted further, subtracts them, because this cell will count them.
 */
async function adjustCounts(client: Queryable, organizationId: string): Promise<void> {
  const { rows } = await client.query<{ days: string[] | null }>({
    text: `
  select array_agg(distinct (e.created_at at time zone 'UTC')::date::text) as days
    from posthorn.events e
   where e.organization_id = $1
     and e.created_at >= (select a.content::timestamptz from posthorn.arrivals a
                           where a.organization_id = $1 and a.relation = 'counted_until')`,
    values: [organizationId],
  });
  await ensurePartitions(client, 'event_counts', (rows[0]?.days ?? []).map(Date.parse));
  await client.query({
    text: `
  with here as (
    select counted_until from posthorn.event_count_progress
  ), there as (
    select a.content::timestamptz as counted_until from posthorn.arrivals a
     where a.organization_id = $1 and a.relation = 'counted_until'
  )
  insert into posthorn.event_counts as c (organization_id, scope, step, at, type, events)
  select e.organization_id, s.scope, t.step, t.at, e.type, sum(e.events)
    from (select r.organization_id, r.workspace_id, r.type, date_trunc('minute', r.created_at, 'UTC') as minute,
                 count(*) * case when here.counted_until > there.counted_until then 1 else -1 end as events
            from here
           cross join there
            join posthorn.events r
              on r.organization_id = $1
             and r.created_at >= least(here.counted_until, there.counted_until)
             and r.created_at < greatest(here.counted_until, there.counted_until)
           group by 1, 2, 3, 4, here.counted_until, there.counted_until) e
   cross join lateral (select '' union all select e.workspace_id where e.workspace_id is not null) as s (scope)
   cross join lateral (values (1, e.minute), (60, date_trunc('hour', e.minute, 'UTC')),
                              (1440, date_trunc('day', e.minute, 'UTC'))) as t (step, at)
   group by 1, 2, 3, 4, 5
  on conflict (organization_id, scope, step, at, type) do update set events = c.events + excluded.events`,
    values: [organizationId],
  });
}
