import { mayStartWork } from '../cells/relocation-store.js';
import { readHorizonMs } from '../events/event-store.js';
import { avoidScans, type Queryable } from '../postgres/database.js';
import { isUnleased, resumption } from './delivery-store.js';

export interface ReplayKey {
  organization_id: string;
  webhook_id: string;
  id: string;
}

export interface Replay extends ReplayKey {
  status: 'running' | 'done' | 'cancelled';
  total: number;
  done: number;
  created_at: Date;
}

export interface NewReplay extends Omit<ReplayKey, 'id'> {
  from_at: Date;
  /** If this is in the future, the replay ends with the events that have been recorded so far. */
  to_at: Date;
  event_types: readonly string[] | null;
  only_failed: boolean;
}

const columns = 'organization_id, webhook_id, id, status, total, done, created_at';

/**
 * Joins, for each event `e` of a replay `r`, the webhook `w` and, with `only_failed`, the latest delivery `d` of the
 * event to it.
 */
const joined = `
      join posthorn.webhooks w on w.organization_id = e.organization_id and w.id = r.webhook_id
      left join lateral (
           select d.*
             from (select status, attempts, created_at, id
                     from posthorn.deliveries
                    where organization_id = e.organization_id and webhook_id = w.id
                      and created_at = e.created_at and event_id = e.id
                    union all
                   select status, attempts, created_at, id
                     from posthorn.deliveries
                    where organization_id = e.organization_id and event_id = e.id
                      -- Written so that no index on webhook_id applies: the query must use the one on event_id.
                      and coalesce(webhook_id, '') = w.id
                      and created_at >= e.created_at and created_at <> event_created_at) d
            -- Not a join condition, so that nothing is looked up for a replay of all events.
            where r.only_failed
            order by d.created_at desc, d.id desc
            limit 1) d on true`;

/**
 * Matches the events `e` that a replay `r` sends to the webhook `w`: those that `w` would get if they were recorded
 * now, within the replay's filters. Two kinds of events are never sent: events about the webhook itself, and
 * `webhook.delivery_failed` events about the delivery of a `webhook.*` event.
 */
const wanted = `
       (w.workspace_id is null or w.workspace_id = e.workspace_id)
   and w.event_types && array[e.type, split_part(e.type, '.', 1) || '.*', '*']
   and (r.event_types is null or r.event_types && array[e.type, split_part(e.type, '.', 1) || '.*', '*'])
   and not (e.type like 'webhook.%' and e.subject_id = w.id)
   and not (e.type = 'webhook.delivery_failed' and e.payload ->> 'event_type' like 'webhook.%')
   and (w.filter_path is null
        or posthorn.filterable(e.workspace_id, e.subject_type, e.subject_id, e.actor_type, e.actor_id, e.payload)
             @? w.filter_path)
   and (not r.only_failed or coalesce(
         -- Between attempts a delivery counts as failed, as in the list. Before the first it does not.
         d.status <> 'success' and (d.status <> 'pending' or d.attempts > 0),
         -- If there is no delivery row, the event has never been sent to the webhook, or its first delivery is still
         -- pending without a row. The replay sends it only in the first case.
         not exists (select from posthorn.open_shares(e.organization_id, array[w.id], substr(e.id, 5, 16),
                                                          e.created_at) o
                      where o.event_base + o.ordinal = posthorn.number_of(e.id))))`;

/** The maximum number of running replays per webhook. */
export const runningMax = 10;
/**
 * How many events are counted when a replay is created. That takes about half a second. The limit is lower if
 * deliveries are looked up as well, because a lookup reads every partition since the event, and if a filter has to read
 * the payloads.
 */
const countedMax = 100_000;
const countedMaxWithDeliveries = 5_000;
const countedMaxWithFilter = 10_000;

/**
 * Creates a replay and counts the events that it will send, up to a limit. Returns undefined if the webhook already
 * has the maximum number of running replays. The current time comes from the database's clock, as it does for events.
 */
export async function createReplay(
  client: Queryable,
  { organization_id, webhook_id, from_at, to_at, event_types, only_failed }: NewReplay,
): Promise<(Replay & Pick<NewReplay, 'to_at'>) | undefined> {
  const max = only_failed ? countedMaxWithDeliveries : countedMax;
  const { rows } = await client.query<Replay & Pick<NewReplay, 'to_at'>>({
    text: `
  with clock as materialized (
    select date_trunc('milliseconds', clock_timestamp()) as now
  ), r as materialized (
    select $1::text as organization_id, $2::text as webhook_id, posthorn.new_id('RPL', clock.now) as id,
           $3::timestamptz as from_at,
           -- Events that are recorded later would change the total.
           least($4::timestamptz, clock.now) as to_at,
           $5::text[] as event_types, $6::boolean as only_failed, clock.now as created_at
      from clock
  )
  insert into posthorn.replays
         (organization_id, webhook_id, id, from_at, to_at, event_types, only_failed, total, position_at, created_at)
  select r.organization_id, r.webhook_id, r.id, r.from_at, r.to_at, r.event_types, r.only_failed,
         (select count(*)
            from (select * from posthorn.events e
                   where e.organization_id = r.organization_id and e.created_at between r.from_at and r.to_at
                   order by e.created_at, e.id
                   limit least($7, (select ${countedMaxWithFilter} from posthorn.webhooks w
                                    where w.organization_id = r.organization_id and w.id = r.webhook_id
                                      and w.filter_path is not null))) e
            ${joined}
           where ${wanted}),
         r.from_at, r.created_at
    from r
   where (select count(*) from posthorn.replays
           where organization_id = r.organization_id and webhook_id = r.webhook_id and status = 'running') < $8
  returning ${columns}, to_at`,
    values: [organization_id, webhook_id, from_at, to_at, event_types, only_failed, max, runningMax],
  });
  return rows[0];
}

export async function readReplay(
  database: Queryable,
  { organization_id, webhook_id, id }: ReplayKey,
): Promise<Replay | undefined> {
  const { rows } = await database.query<Replay>({
    text: `select ${columns} from posthorn.replays where organization_id = $1 and webhook_id = $2 and id = $3`,
    values: [organization_id, webhook_id, id],
  });
  return rows[0];
}

/**
 * Returns the replay whose turn it is, and immediately moves it to the end of the queue. Organizations take turns, and
 * so do the replays of each. Skips those in `paused`. Returns undefined if no other replay is running, or if other
 * nodes are working on all of them.
 */
export async function nextReplay(
  database: Queryable,
  paused: readonly string[] = [],
): Promise<ReplayKey | undefined> {
  const { rows } = await database.query<ReplayKey>({
    text: `
  update posthorn.replays
     set advanced_at = clock_timestamp()
   where (organization_id, webhook_id, id) = (
           select r.organization_id, r.webhook_id, r.id
             from posthorn.replays r
             join (select organization_id, max(advanced_at) as turn_at
                     from posthorn.replays
                    where status = 'running'
                    group by organization_id) o on o.organization_id = r.organization_id
            where r.status = 'running' and r.id <> all ($1) and ${mayStartWork('r')}
            order by o.turn_at, r.advanced_at, r.created_at
            limit 1
              for update of r skip locked)
  returning organization_id, webhook_id, id`,
    values: [paused],
  });
  return rows[0];
}

export interface AdvancedReplay extends Replay {
  /** Whether it has handled everything up to the horizon, but open transactions can still add events in its range. */
  at_horizon: boolean;
}

/**
 * Advances a running replay by one page of events in the transaction of `client`. Returns undefined if the replay has
 * ended, if its organization is moving, or if another node is working on this or another replay of the webhook. Two
 * replays with `only_failed` that advance at the same time could both queue a delivery for the same event. Position and
 * deliveries commit together, so nothing is repeated after a crash.
 *
 * If the latest delivery of an event is waiting for a retry, `only_failed` makes an extra attempt of it now instead of
 * queuing another.
 * Does not change a delivery that another transaction has locked: it is being claimed, settled or made due. Waiting for
 * it could deadlock, because this transaction locks many.
 */
export async function advanceReplay(
  client: Queryable,
  replay: ReplayKey,
  pageSize: number,
): Promise<AdvancedReplay | undefined> {
  const taken = await client.query<{ alone: boolean }>({
    text: `
  select pg_try_advisory_xact_lock(hashtext('posthorn.replays'), hashtext($2)) as alone
    from posthorn.replays r
   where organization_id = $1 and webhook_id = $2 and id = $3 and status = 'running' and ${mayStartWork('r')}
     for update of r skip locked`,
    values: [replay.organization_id, replay.webhook_id, replay.id],
  });
  if (!taken.rows[0]?.alone) return undefined;
  await client.query({
    text: "select posthorn.ensure_partition('deliveries', (clock_timestamp() at time zone 'UTC')::date)",
  });
  // Read first: everything before the horizon is committed by then, so the page has all of it.
  const horizon = new Date(await readHorizonMs(client, replay.organization_id));
  // The planner's cost estimates ignore run-time partition pruning, so it would scan large tables completely.
  await avoidScans(client, ['seqscan', 'hashjoin', 'mergejoin']);
  const { rows } = await client.query<AdvancedReplay>({
    text: `
  with r as (
    select * from posthorn.replays where organization_id = $1 and webhook_id = $2 and id = $3
  ), page as materialized (
    select e.*, row_number() over (order by e.created_at, e.id) as n
      from r
     cross join lateral (
           select * from posthorn.events e
            where e.organization_id = r.organization_id and e.created_at between r.position_at and r.to_at
              and e.created_at < $5
              and (e.created_at, e.id) > (r.position_at, r.position_id)
            order by e.created_at, e.id
            limit $4) e
  ), chosen as materialized (
    select e.*, w.id as webhook_id, d.created_at as latest_at, d.id as latest_id,
           d.status is not distinct from 'pending' as waits
      from page e
     cross join r
      ${joined}
     where w.status in ('active', 'paused') and ${wanted}
  ), seed as materialized (
    select date_trunc('milliseconds', clock_timestamp()) as at, replace(gen_random_uuid()::text, '-', '') as entropy
  ), queued as (
    insert into posthorn.deliveries
           (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at, due_at, bytes)
    select c.organization_id, c.webhook_id, s.at,
           'WDLV-' || posthorn.ulid_head(posthorn.epoch_ms(s.at), ('x' || left(s.entropy, 10))::bit(40)::bigint)
                   || posthorn.base32((('x' || right(s.entropy, 10))::bit(40)::bigint & ((1::bigint << 39) - 1)) + c.n),
           c.id, c.type, c.created_at, s.at, c.bytes
      from chosen c
     cross join seed s
     where not c.waits
  ), waiting as materialized (
    select d.*
      from chosen c
     cross join lateral (
           select d.organization_id, d.webhook_id, d.created_at, d.id
             from posthorn.deliveries d
            where d.organization_id = c.organization_id and d.webhook_id = c.webhook_id
              and d.created_at = c.latest_at and d.id = c.latest_id and ${isUnleased}
              and d.due_at > clock_timestamp()
              for update skip locked) d
     where c.waits
  ), brought_forward as (
    update posthorn.deliveries d
       set due_at = least(d.due_at, s.at), resume_at = ${resumption}
      from waiting p
     cross join seed s
     where d.organization_id = p.organization_id and d.webhook_id = p.webhook_id
       and d.created_at = p.created_at and d.id = p.id
  ), standing as (
    select (select count(*) from page) < $4 as short,
           (select count(*) from chosen) as handled,
           exists (select from posthorn.webhooks w, r
                    where w.organization_id = r.organization_id and w.id = r.webhook_id
                      and w.status in ('active', 'paused')) as active,
           (select p.created_at from page p order by p.n desc limit 1) as last_at,
           (select p.id from page p order by p.n desc limit 1) as last_id
  )
  update posthorn.replays u
     set done = u.done + s.handled,
         position_at = coalesce(s.last_at, u.position_at),
         position_id = coalesce(s.last_id, u.position_id),
         status = case when not s.active then 'cancelled' when s.short and u.to_at < $5 then 'done' else 'running' end,
         -- At the end, correct the total: some events may not have been counted, and others may no longer match.
         total = case when s.short and u.to_at < $5 then u.done + s.handled else greatest(u.total, u.done + s.handled) end
    from standing s
   where u.organization_id = $1 and u.webhook_id = $2 and u.id = $3
  returning u.organization_id, u.webhook_id, u.id, u.status, u.total, u.done, u.created_at,
            s.short and u.status = 'running' as at_horizon`,
    values: [replay.organization_id, replay.webhook_id, replay.id, pageSize, horizon],
  });
  await client.query({ text: 'select posthorn.announce_waiting()' });
  return rows[0];
}
