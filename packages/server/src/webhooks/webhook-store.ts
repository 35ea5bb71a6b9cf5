import { mayStartWork } from '../cells/relocation-store.js';
import type { Queryable } from '../postgres/database.js';
import type { Position } from '../values/cursor.js';
import type { Format } from './format.js';
import { alignWaiting } from './waiting-store.js';
import { type DisabledReason, reverifyAfterMs, type Webhook, type WebhookStatus } from './webhook.js';

const ownColumns = `w.id, w.organization_id, w.workspace_id, w.url, w.description, w.rate_limit, w.header_names,
         w.headers, w.status, w.disabled_reason, w.event_types,
         w.created_at, w.verification_failure, w.secret, w.previous_secret, w.previous_secret_until, w.revision,
         w.destination_changed_at, w.filter, w.retry_schedule, w.expires_at, w.format, w.template,
         w.format_changed_at`;
const health = (column: string) => `
         (select h.${column} from posthorn.webhook_health h
           where h.organization_id = w.organization_id and h.webhook_id = w.id) as ${column}`;
export const webhookColumns = `${ownColumns}, ${health('last_delivery_at')}, ${health('last_delivery_status')},
         (select h.incident_since from posthorn.webhook_health h
           where h.organization_id = w.organization_id and h.webhook_id = w.id) as failing_since`;

export interface WebhookKey {
  organization_id: string;
  id: string;
}

/** A webhook key, limited to one workspace if the token is. */
export interface VisibleWebhookKey extends WebhookKey {
  only_workspace_id: string | undefined;
}

/** The fields that are set when a webhook is created. */
export type NewWebhook = Pick<
  Webhook,
  | 'id'
  | 'organization_id'
  | 'workspace_id'
  | 'url'
  | 'description'
  | 'rate_limit'
  | 'header_names'
  | 'headers'
  | 'retry_schedule'
  | 'expires_at'
  | 'status'
  | 'disabled_reason'
  | 'event_types'
  | 'filter'
  | 'format'
  | 'template'
  | 'created_at'
  | 'secret'
> & { filter_path: string | null };

/**
 * Adds a webhook. Returns false if the organization already has the maximum number of webhooks. If it is unverified,
 * the first automatic verification is already scheduled, in case this process dies before it has verified the webhook.
 */
export async function createWebhook(
  client: Queryable,
  webhook: NewWebhook,
  webhooksMax: number,
): Promise<boolean> {
  // Two concurrent creations must not both take the last free place.
  await client.query({
    text: "select pg_advisory_xact_lock(hashtextextended('posthorn.webhooks ' || $1, 0))",
    values: [webhook.organization_id],
  });
  const { rowCount } = await client.query({
    text: `
  with created as (
    insert into posthorn.webhooks
           (organization_id, id, workspace_id, url, status, event_types, created_at, secret, verify_at,
            description, rate_limit, header_names, headers, filter, filter_path, disabled_reason, retry_schedule,
            expires_at, format, template)
    select $1, $2, $3, $4, $16, $5, $6, $7, $8, $10, $11, $12, $13, $14, $15, $17, $18, $19, $20, $21
     where (select count(*) from posthorn.webhooks where organization_id = $1) < $9
    returning organization_id, id
  )
  insert into posthorn.webhook_health (organization_id, webhook_id) select organization_id, id from created`,
    values: [
      webhook.organization_id,
      webhook.id,
      webhook.workspace_id,
      webhook.url,
      webhook.event_types,
      webhook.created_at,
      webhook.secret,
      webhook.status === 'unverified' ? new Date(webhook.created_at.getTime() + reverifyAfterMs[0]) : null,
      webhooksMax,
      webhook.description,
      webhook.rate_limit,
      webhook.header_names,
      webhook.headers,
      webhook.filter,
      webhook.filter_path,
      webhook.status,
      webhook.disabled_reason,
      webhook.retry_schedule,
      webhook.expires_at,
      webhook.format,
      webhook.template,
    ],
  });
  return rowCount === 1;
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
    values: [
      filter.organization_id,
      filter.workspace_id ?? null,
      after ? new Date(after.atMs) : null,
      after?.id ?? null,
      limit,
    ],
  });
  return rows;
}

export interface WebhookChange {
  url?: string;
  description?: string | null;
  rate_limit?: number | null;
  retry_schedule?: readonly string[] | null;
  expires_at?: Date | null;
  header_names?: readonly string[];
  headers?: Buffer | null;
  event_types?: readonly string[];
  filter?: string | null;
  filter_path?: string | null;
  format?: Format;
  template?: string | null;
  status?: WebhookStatus;
  disabled_reason?: DisabledReason | null;
  secret?: Buffer;
  previous_secret?: Buffer | null;
  previous_secret_until?: Date | null;
  verifications?: number;
  verify_at?: Date | null;
  verification_failure?: Webhook['verification_failure'];
}

const changeable = [
  'url',
  'description',
  'rate_limit',
  'retry_schedule',
  'expires_at',
  'header_names',
  'headers',
  'event_types',
  'filter',
  'filter_path',
  'format',
  'template',
  'status',
  'disabled_reason',
  'secret',
  'previous_secret',
  'previous_secret_until',
  'verifications',
  'verify_at',
  'verification_failure',
] as const satisfies readonly (keyof WebhookChange)[];

/** Changes the given fields and returns the changed webhook. */
export async function changeWebhook(
  client: Queryable,
  key: WebhookKey,
  change: WebhookChange,
): Promise<Webhook | undefined> {
  const values: unknown[] = [key.organization_id, key.id];
  const sets = changeable
    .filter((column) => change[column] !== undefined)
    .map((column) => `${column} = $${values.push(change[column])}`);
  // Each of these columns tells which requests were sent before the change.
  for (const [since, columns] of [
    ['destination_changed_at', ['url', 'header_names']],
    ['format_changed_at', ['format', 'template']],
  ] as const) {
    const differs = columns
      .filter((column) => change[column] !== undefined)
      // There is no operator that compares json.
      .map(
        (column) =>
          `${column}${column === 'template' ? '::text' : ''} is distinct from $${values.push(change[column])}`,
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
): Promise<(WebhookKey & { workspace_id: string | null }) | undefined> {
  const { rows } = await client.query<WebhookKey & { workspace_id: string | null }>({
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
