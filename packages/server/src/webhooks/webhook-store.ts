import { mayStartWork } from '../cells/relocation-store.js';
import type { Queryable } from '../postgres/database.js';
import { type Position, valuesOf } from '../values/cursor.js';
import { type About, type DisabledReason, reverifyAfterMs, type Webhook } from './webhook.js';

const ownColumns = `w.id, w.organization_id, w.workspace_id, w.url, w.description, w.rate_limit, w.header_names,
         w.headers, w.status, w.disabled_reason, w.event_types,
         w.created_at, w.verification_failure, w.secret, w.previous_secret, w.previous_secret_until, w.secret_rotated_at, w.revision,
         w.destination_changed_at, w.filter, w.retry_schedule, w.expires_at, w.format, w.template,
         w.format_changed_at`;
const health = (column: string, name = column) => `
         (select h.${column} from posthorn.webhook_health h
           where h.organization_id = w.organization_id and h.webhook_id = w.id) as ${name}`;
export const webhookColumns = `${ownColumns}, ${health('last_delivery_at')}, ${health('last_delivery_status')},
         ${health('incident_since', 'failing_since')}`;

export interface WebhookKey {
  organization_id: string;
  id: string;
}

/** A webhook key, limited to one workspace if the token is. */
export interface VisibleWebhookKey extends WebhookKey {
  only_workspace_id: string | undefined;
}

/** The columns of a webhook that no reader gets. */
interface OtherColumns {
  filter_path: string | null;
  verifications: number;
  verify_at: Date | null;
}

export type WebhookChange = Partial<Omit<Webhook & OtherColumns, keyof WebhookKey>>;

/** The columns of a webhook when it is created. */
export type NewWebhook = WebhookChange & Pick<Webhook, keyof WebhookKey | 'created_at' | 'status'>;

/**
 * Adds a webhook and returns it. Returns undefined if the organization already has the maximum number of webhooks. If it
 * is unverified, the first automatic verification is already scheduled, in case this process dies before it has verified
 * the webhook.
 */
export async function createWebhook(
  client: Queryable,
  webhook: NewWebhook,
  webhooksMax: number,
): Promise<Webhook | undefined> {
  const { organization_id, status, created_at } = webhook;
  // Two concurrent creations must not both take the last free place.
  await client.query({
    text: "select pg_advisory_xact_lock(hashtextextended('posthorn.webhooks ' || $1, 0))",
    values: [organization_id],
  });
  const verify_at = status === 'unverified' ? new Date(created_at.getTime() + reverifyAfterMs[0]) : null;
  const values: unknown[] = [organization_id, webhooksMax];
  const row = columnsOf({ ...webhook, verify_at }, values);
  const { rows } = await client.query<Webhook>({
    text: `
  with created as (
    insert into posthorn.webhooks as w (${row.map(({ column }) => column).join(', ')})
    select ${row.map(({ value }) => value).join(', ')}
     where (select count(*) from posthorn.webhooks where organization_id = $1) < $2
    returning ${webhookColumns}
  ), health as (
    insert into posthorn.webhook_health (organization_id, webhook_id) select organization_id, id from created
  )
  select * from created`,
    values,
  });
  return rows[0];
}

/** Binds the fields that are given. Returns each with the parameter that stands for its value. */
function columnsOf(fields: object, values: unknown[]): { column: string; value: string }[] {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([column, value]) => ({ column, value: `$${values.push(value)}` }));
}

export async function readWebhook(
  client: Queryable,
  key: WebhookKey | VisibleWebhookKey,
  lock = false,
): Promise<Webhook | undefined> {
  const { rows } = await client.query<Webhook>({
    text: `
  select ${webhookColumns}
    from posthorn.webhooks w
   where organization_id = $1 and id = $2 and ($3::text is null or workspace_id = $3)
   ${lock ? 'for update of w' : ''}`,
    values: [key.organization_id, key.id, ('only_workspace_id' in key && key.only_workspace_id) || null],
  });
  return rows[0];
}

/** A webhook without its health, which sending does not need. */
export type WebhookWithoutHealth = Omit<
  Webhook,
  'last_delivery_at' | 'last_delivery_status' | 'failing_since'
>;

/** Reads webhooks by ID, each in its organization. Leaves out those that this cell may not send to. */
export async function readWebhooks(
  database: Queryable,
  organizationById: ReadonlyMap<string, string>,
): Promise<readonly WebhookWithoutHealth[]> {
  const { rows } = await database.query<WebhookWithoutHealth>({
    name: 'webhooks by id',
    text: `
  select ${ownColumns}
    from posthorn.webhooks w
   where (organization_id, id) in (select * from unnest($1::text[], $2::text[]))
     and ${mayStartWork('w')}`,
    values: [[...organizationById.values()], [...organizationById.keys()]],
  });
  return rows;
}

/** Lists webhooks, newest first, starting after `after`. */
export async function listWebhooks(
  database: Queryable,
  filter: { organization_id: string; workspace_id: string | undefined },
  after: Position | undefined,
  limit: number,
): Promise<readonly Webhook[]> {
  const { rows } = await database.query<Webhook>({
    text: `
  select ${webhookColumns}
    from posthorn.webhooks w
   where organization_id = $1 and ($2::text is null or workspace_id = $2)
     and ($3::timestamptz is null or (created_at, id) < ($3, $4))
   order by created_at desc, id desc
   limit $5`,
    values: [filter.organization_id, filter.workspace_id ?? null, ...valuesOf(after), limit],
  });
  return rows;
}

/** How many webhooks have each status. Those with an incident are failing, not active. */
export type WebhookCounts = Record<'active' | 'failing' | 'unverified' | 'paused' | 'disabled', number>;

export async function countWebhooks(
  database: Queryable,
  filter: { organization_id: string; workspace_id: string | undefined; id: string | undefined },
): Promise<WebhookCounts> {
  const { rows } = await database.query<WebhookCounts>({
    text: `
  select (count(*) filter (where w.status = 'active' and h.incident_since is null))::int as active,
         (count(*) filter (where w.status = 'active' and h.incident_since is not null))::int as failing,
         (count(*) filter (where w.status = 'unverified'))::int as unverified,
         (count(*) filter (where w.status = 'paused'))::int as paused,
         (count(*) filter (where w.status = 'disabled'))::int as disabled
    from posthorn.webhooks w
    left join posthorn.webhook_health h on h.organization_id = w.organization_id and h.webhook_id = w.id
   where w.organization_id = $1 and ($2::text is null or w.workspace_id = $2) and ($3::text is null or w.id = $3)`,
    values: [filter.organization_id, filter.workspace_id ?? null, filter.id ?? null],
  });
  return rows[0]!;
}

/** Changes the given fields and returns the changed webhook. */
export async function changeWebhook(
  client: Queryable,
  key: WebhookKey,
  change: WebhookChange,
): Promise<Webhook | undefined> {
  const values: unknown[] = [key.organization_id, key.id];
  const sets = columnsOf(change, values).map(({ column, value }) => `${column} = ${value}`);
  // Each of these columns tells which requests were sent before the change.
  const { url, header_names, format, template } = change;
  for (const [since, fields] of [
    ['destination_changed_at', { url, header_names }],
    // There is no operator that compares json.
    ['format_changed_at', { format, 'template::text': template }],
  ] as const) {
    const differs = columnsOf(fields, values).map(
      ({ column, value }) => `${column} is distinct from ${value}`,
    );
    if (differs.length > 0)
      sets.push(`${since} = case when ${differs.join(' or ')} then clock_timestamp() else ${since} end`);
  }
  const { rows } = await client.query<Webhook>({
    text: `
  update posthorn.webhooks w
     set ${[...sets, 'revision = revision + 1'].join(', ')}
   where organization_id = $1 and id = $2
  returning ${webhookColumns}`,
    values,
  });
  return rows[0];
}

export async function deleteWebhook(client: Queryable, key: VisibleWebhookKey): Promise<Webhook | undefined> {
  const { rows } = await client.query<Webhook>({
    text: `
  delete from posthorn.webhooks w
   where organization_id = $1 and id = $2 and ($3::text is null or workspace_id = $3)
  returning ${webhookColumns}`,
    values: [key.organization_id, key.id, key.only_workspace_id ?? null],
  });
  return rows[0];
}

/** Deletes the webhook that expired first, unless its organization is stopped. Returns it, or undefined if none has. */
export async function deleteExpired(client: Queryable, now: Date): Promise<Webhook | undefined> {
  const { rows } = await client.query<Webhook>({
    text: `
  delete from posthorn.webhooks w
   where (organization_id, id) = (
           select e.organization_id, e.id
             from posthorn.webhooks e
            where e.expires_at <= $1 and ${mayStartWork('e')}
            order by e.expires_at
            limit 1
              for update skip locked)
  returning ${webhookColumns}`,
    values: [now],
  });
  return rows[0];
}

/** Locks webhooks until the transaction ends. Does not wait: returns the IDs of those that another one has locked. */
export async function lockWebhooks(
  client: Queryable,
  keys: readonly WebhookKey[],
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ id: string }>({
    text: `
  with free as (
    select organization_id, id from posthorn.webhooks
     where (organization_id, id) in (select * from unnest($1::text[], $2::text[]))
       for update skip locked
  )
  select id from posthorn.webhooks
   where (organization_id, id) in (select * from unnest($1::text[], $2::text[]))
     and (organization_id, id) not in (select * from free)`,
    values: [keys.map((key) => key.organization_id), keys.map((key) => key.id)],
  });
  return new Set(rows.map(({ id }) => id));
}

/**
 * How many waiting deliveries are ended in the transaction that disables a webhook: usually all of them, but
 * never so many that the transaction takes too long.
 */
const endedWithDisablingMax = 200;

/**
 * Disables a webhook unless it is already disabled, and ends its waiting deliveries, up to about
 * `endedWithDisablingMax`. If `url` is given, the webhook must still have that URL. Returns the fields that the
 * `webhook.disabled` event needs, or undefined if nothing changed.
 */
export async function disableWebhook(
  client: Queryable,
  key: WebhookKey,
  reason: DisabledReason,
  url?: string,
): Promise<About | undefined> {
  const { rows } = await client.query<About>({
    text: `
  update posthorn.webhooks
     set status = 'disabled', disabled_reason = $3, verify_at = null, revision = revision + 1
   where organization_id = $1 and id = $2 and status <> 'disabled' and url = coalesce($4, url)
  returning organization_id, id, workspace_id`,
    values: [key.organization_id, key.id, reason, url],
  });
  if (rows[0]) await alignWaiting(client, key, endedWithDisablingMax);
  return rows[0];
}

/**
 * Brings the waiting deliveries of a webhook in line with its status, about `atMost` at a time: holds them while it
 * is unverified or paused, releases them once it is active, and ends them once it is disabled or deleted. Returns how
 * many it changed.
 */
export async function alignWaiting(
  database: Queryable,
  { organization_id, id }: { organization_id: string; id: string },
  atMost: number,
): Promise<number> {
  const { rows } = await database.query<{ changed: number }>({
    text: 'select posthorn.align_waiting($1, $2, $3) as changed',
    values: [organization_id, id, atMost],
  });
  return rows[0]!.changed;
}

/** How many webhooks one statement handles, so that it ends within its time limit. */
const heldWebhooksMax = 10;

/**
 * Releases or ends deliveries that are still held although their webhook is neither unverified nor paused. This happens if
 * aligning them did not finish after the status changed. Handles a few webhooks per call, with about `atMost`
 * deliveries each. Returns how many it changed.
 */
export async function releaseHeld(database: Queryable, atMost: number): Promise<number> {
  const { rows } = await database.query<{ released: number }>({
    name: 'release held',
    text: `
  select coalesce(sum(posthorn.align_waiting(h.organization_id, h.webhook_id, $1)), 0) as released
    from (select held.organization_id, held.webhook_id
            from (select organization_id, webhook_id from posthorn.deliveries
                   where status = 'pending' and leased_by = 0
                   union
                  select organization_id, webhook_id from posthorn.backlog where leased_by = 0) held
           where not exists (select from posthorn.webhooks w
                              where w.organization_id = held.organization_id and w.id = held.webhook_id
                                and w.status in ('unverified', 'paused'))
             and ${mayStartWork('held')}
           -- Locks the webhooks in the same order as other transactions do.
           order by 1, 2
           limit ${heldWebhooksMax}) h`,
    values: [atMost],
  });
  return rows[0]!.released;
}
