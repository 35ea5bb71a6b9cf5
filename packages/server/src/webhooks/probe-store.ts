import { mayStartWork, requireHere } from '../cells/relocation-store.js';
import type { StoredEvent } from '../events/event.js';
import { type EventFilter, eventPage } from '../events/event-store.js';
import { batchOf, type RecordedBatch, type Room, recordBatch } from '../events/recording-store.js';
import type { Queryable } from '../postgres/database.js';
import * as webhooks from './webhook.js';
import * as store from './webhook-store.js';

/**
 * Writes the result of a verification and the changes that depend on it, and records a failure as an event, in one
 * transaction. Returns undefined if the webhook was deleted or changed in the meantime. Throws if the
 * organization is stopped because it is moving to another cell: even a success would be lost. `automatic` means that
 * the service started the verification and has already scheduled the next one. The status of the change is the one
 * after a success. A paused webhook stays paused, unless it fails at a new URL. It is then not verified automatically,
 * because that would end the pause.
 */
export async function settleVerification(
  client: Queryable,
  webhook: webhooks.Webhook,
  failure: webhooks.VerificationFailure | undefined,
  now: Date,
  room: Room,
  options: { change?: store.WebhookChange; automatic?: boolean } = {},
): Promise<{ webhook: webhooks.Webhook; batch: RecordedBatch | undefined } | undefined> {
  await requireHere(client, webhook.organization_id, webhooks.verificationFailedType);
  const current = await store.readWebhook(
    client,
    { organization_id: webhook.organization_id, id: webhook.id },
    true,
  );
  if (!current || current.revision !== webhook.revision) return undefined;
  const verified = options.change?.status ?? (current.status === 'paused' ? 'paused' : 'active');
  const stays = current.status === 'paused' && options.change?.url === undefined;
  const retryAt = verified === 'paused' ? null : new Date(now.getTime() + webhooks.reverifyAfterMs[0]);
  const change: store.WebhookChange = {
    ...options.change,
    ...(failure && !stays
      ? { status: 'unverified', ...(!options.automatic && { verifications: 0, verify_at: retryAt }) }
      : { status: verified, verifications: 0, verify_at: null }),
    disabled_reason: null,
    verification_failure: failure ? { at: now.toISOString(), ...failure } : null,
  };
  const changed = await store.changeWebhook(client, current, change);
  if (!changed) return undefined;
  if (!failure) {
    await clearFailures(client, changed);
    return { webhook: changed, batch: undefined };
  }
  const batch = await recordBatch(client, batchOf([webhooks.verificationFailed(changed, failure)]), room);
  return { webhook: changed, batch };
}

/**
 * Takes webhooks whose automatic verification is due, and schedules the next one, so that if a node dies, the
 * verification is only delayed. Organizations take turns: an organization with many webhooks does not delay the others.
 */
export async function takeDueVerifications(
  database: Queryable,
  now: Date,
  limit: number,
): Promise<readonly webhooks.Webhook[]> {
  const { rows } = await database.query<webhooks.Webhook>({
    text: `
  update posthorn.webhooks w
     set verifications = verifications + 1,
         verify_at = $1::timestamptz + make_interval(secs => ($2::float8[])[verifications + 2] / 1000)
   where (organization_id, id) in (
           select v.organization_id, v.id
             from (select *, row_number() over (partition by organization_id order by verify_at) as turn
                     from posthorn.webhooks
                    where status = 'unverified' and verify_at <= $1) d
             join posthorn.webhooks v on v.organization_id = d.organization_id and v.id = d.id
            where v.status = 'unverified' and v.verify_at <= $1 and ${mayStartWork('v')}
            order by d.turn, v.verify_at
            limit $3
              for update of v skip locked)
  returning ${store.webhookColumns}`,
    values: [now, webhooks.reverifyAfterMs, limit],
  });
  return rows;
}

/**
 * An SQL condition: whether the minute in which tests are counted is still running. A minute that starts far in the
 * future does not count: a clock has been set back since, and that minute would not end for a long time.
 */
const isCurrent = `tests_since > $3::timestamptz - interval '1 minute'
                       and tests_since < $3::timestamptz + interval '1 minute'`;

/** Counts a test event. Returns false if the webhook has reached its limit per minute. */
export async function countTest(
  database: Queryable,
  key: store.WebhookKey,
  now: Date,
  max: number,
): Promise<boolean> {
  const { rowCount } = await database.query({
    text: `
  update posthorn.webhooks
     set tests = case when ${isCurrent} then tests + 1 else 1 end,
         tests_since = case when ${isCurrent} then tests_since else $3 end
   where organization_id = $1 and id = $2 and ((${isCurrent}) is not true or tests < $4)`,
    values: [key.organization_id, key.id, now, max],
  });
  return rowCount === 1;
}

/** Clears the failures of a webhook that was verified or resumed, so that it is not disabled because of earlier ones. */
export async function clearFailures(client: Queryable, key: store.WebhookKey): Promise<void> {
  await client.query({
    text: `
  update posthorn.webhook_health
     set failing_since = null, last_failure_at = null,
         -- An incident goes on until a delivery succeeds.
         failures = case when incident_since is null then 0 else failures end
   where organization_id = $1 and webhook_id = $2`,
    values: [key.organization_id, key.id],
  });
}

export interface Preview {
  examined: number;
  matched: number;
  is_complete: boolean;
  /** The newest events that match, newest first. */
  events: readonly StoredEvent[];
}

const examinedMax = 10_000;
/** Reading the payloads must not take longer than a statement may. */
const bytesMax = 64 * 1024 * 1024;
const shownMax = 10;

/** Finds out which of the newest events in a range a webhook would have got. */
export async function previewWebhook(
  database: Queryable,
  range: EventFilter,
  eventTypes: readonly string[],
  filterPath: string | null,
): Promise<Preview> {
  const page = eventPage(range, examinedMax + 1);
  const bind = (value: unknown) => `$${page.values.push(value)}`;
  const { rows } = await database.query<Omit<Preview, 'events'> & Partial<StoredEvent>>({
    text: `
  with found as (
    select *, row_number() over newest as n, sum(bytes) over newest - bytes as before
      from (${page.text}) page
    window newest as (rows unbounded preceding)
  ), examined as materialized (
    select n, created_at, id,
           n <= ${examinedMax} and before < ${bytesMax} as is_examined,
           n <= ${examinedMax} and before < ${bytesMax}
             and ${bind(eventTypes)}::text[] && array[type, split_part(type, '.', 1) || '.*', '*']
             and (${bind(filterPath)}::jsonpath is null
                  or posthorn.filterable(workspace_id, subject_type, subject_id, actor_type, actor_id, payload)
                       @? $${page.values.length}) as matches
      from found
  ), counts as (
    select (count(*) filter (where is_examined))::int as examined, (count(*) filter (where matches))::int as matched,
           coalesce(bool_and(is_examined), true) as is_complete
      from examined
  )
  select c.*, e.*
    from counts c
    left join (select n, created_at, id from examined where matches order by n limit ${shownMax}) m on true
    left join posthorn.events e
      on e.organization_id = $1 and e.created_at = m.created_at and e.id = m.id
   order by m.n`,
    values: page.values,
  });
  const { examined, matched, is_complete } = rows[0]!;
  const events = rows.filter(
    (row): row is typeof row & StoredEvent => row.id !== undefined && row.id !== null,
  );
  return { examined, matched, is_complete, events };
}
