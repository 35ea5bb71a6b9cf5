-- Recording, claiming and settling with less work for each delivery, and bounded by bytes as well as rows.
-- Under new names: nodes of the version before go on with the old functions while they are replaced.

-- How large the event's payload is, so that a claim knows what it would bring without reading it.
alter table posthorn.events add column bytes int;
alter table posthorn.deliveries add column bytes int;

-- Why a webhook is not verified: {at, reason, http_status, duration_ms, response}.
alter table posthorn.webhooks add column verification_failure jsonb;

-- Whether anything is due at all: the usual answer is no, and must not cost with the number of webhooks.
create index deliveries_due on posthorn.deliveries (due_at) where status = 'pending' and leased_by is null;

-- Replays take turns, so that a long one does not keep all others waiting: whose turn is longest ago is next.
alter table posthorn.replays add column advanced_at timestamptz not null default '-infinity';
drop index posthorn.replays_running;
create index replays_running on posthorn.replays (advanced_at, created_at) where status = 'running';

-- As record_batch, with cheaper identifiers: those of one batch share all but their last ten characters, which
-- are a number that counts up, in hexadecimal digits. Answers a row for each event or, where it has some,
-- for each of its deliveries that were born leased; what all of an event's rows share is in the first.
create function posthorn.record_and_lease(events json, node int, saturated text[])
returns table (
  ordinal bigint, id text, created_at timestamptz,
  delivery_id text, webhook_id text, organization_id text, workspace_id text, type text, payload json
)
language plpgsql
-- Its plan is made once and kept: planning it anew costs as much as recording ten events. Made on an empty
-- table it would be a sequential scan, and stay one.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  recorded_at timestamptz := posthorn.announce_recording();
  entropy     text := replace(gen_random_uuid()::text, '-', '');
  head        text := left(posthorn.ulid_head(
                        posthorn.epoch_ms(recorded_at), ('x' || left(entropy, 10))::bit(40)::bigint), 16);
  -- From 2^38 on: always ten digits, and room for what is added.
  first       bigint := (1::bigint << 38) | (('x' || right(entropy, 10))::bit(40)::bigint & ((1::bigint << 38) - 1));
  event_head  text := 'EVT-' || head;
  today       date := (recorded_at at time zone 'UTC')::date;
begin
  perform posthorn.ensure_partition('events', today);
  perform posthorn.ensure_partition('deliveries', today);

  -- A look at the text spares most batches a second reading. JSON may also spell the name with escapes.
  if position('"idempotency_key"' in events::text) > 0 or position('\u00' in events::text) > 0 then
    -- In the order of the keys, so that two batches with the same keys cannot wait for each other.
    insert into posthorn.event_keys as k (organization_id, key, event_id, created_at)
    select distinct on (e.organization_id, e.idempotency_key)
           e.organization_id, e.idempotency_key,
           event_head || upper(to_hex(first + e.ordinal) collate "C"), recorded_at
      from rows from (json_to_recordset(events) as (organization_id text, idempotency_key text))
           with ordinality as e (organization_id, idempotency_key, ordinal)
     where e.idempotency_key is not null
     order by e.organization_id, e.idempotency_key, e.ordinal
    on conflict (organization_id, key) do update
       set event_id = excluded.event_id, created_at = excluded.created_at
     where k.created_at <= recorded_at - interval '24 hours';
  end if;

  return query
  with batch as materialized (
    select e.*,
           coalesce(k.event_id, event_head || upper(to_hex(first + e.ordinal) collate "C")) as id,
           coalesce(k.created_at, recorded_at) as created_at,
           k.event_id is null
             or k.event_id = event_head || upper(to_hex(first + e.ordinal) collate "C") as fresh
      from rows from (json_to_recordset(events) as (
             type text, organization_id text, workspace_id text, actor json, subject json, payload json,
             idempotency_key text, undelivered boolean
           )) with ordinality as e (
             type, organization_id, workspace_id, actor, subject, payload,
             idempotency_key, undelivered, ordinal
           )
      left join posthorn.event_keys k
        on k.organization_id = e.organization_id and k.key = e.idempotency_key
  ), recorded as (
    insert into posthorn.events
           (organization_id, created_at, id, type, workspace_id,
            actor_type, actor_id, subject_type, subject_id, payload, bytes)
    select b.organization_id, b.created_at, b.id, b.type, b.workspace_id,
           b.actor ->> 'type', b.actor ->> 'id', b.subject ->> 'type', b.subject ->> 'id', b.payload,
           octet_length(b.payload::text)
      from batch b
     where b.fresh
     order by b.ordinal
  ), matched as materialized (
    select b.ordinal, w.id as webhook_id,
           row_number() over (order by b.ordinal, w.id) as number,
           case when w.id = any (saturated) then null else node end as leased_by
      from batch b
      join posthorn.webhooks w
        on w.organization_id = b.organization_id
       and w.status = 'active'
       and (w.workspace_id is null or w.workspace_id = b.workspace_id)
       and w.event_types && array[b.type, split_part(b.type, '.', 1) || '.*', '*']
       -- A webhook is not told about itself.
       and not (b.type like 'webhook.%' and b.subject ->> 'id' = w.id)
     where b.fresh and b.undelivered is not true
  ), queued as (
    insert into posthorn.deliveries
           (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at,
            due_at, leased_by, bytes)
    select b.organization_id, m.webhook_id, recorded_at,
           'WDLV-' || head || upper(to_hex(first + m.number) collate "C"),
           b.id, b.type, b.created_at, recorded_at, m.leased_by, octet_length(b.payload::text)
      from matched m
      join batch b on b.ordinal = m.ordinal
  )
  select b.ordinal,
         case when m.later then null else b.id end,
         b.created_at,
         m.delivery_id, m.webhook_id,
         case when m.later then null else b.organization_id end,
         case when m.later then null else b.workspace_id end,
         case when m.later then null else b.type end,
         case when not m.later then b.payload end
    from batch b
    left join (
         select l.ordinal, l.webhook_id, l.number,
                'WDLV-' || head || upper(to_hex(first + l.number) collate "C") as delivery_id,
                l.ordinal = lag(l.ordinal, 1, 0::bigint) over (order by l.number) as later
           from matched l
          where l.leased_by is not null
         ) m on m.ordinal = b.ordinal
   -- Rows nobody holds are announced at commit; a node that cannot listen finds them by its poll.
   cross join (
      select count(pg_notify('posthorn_deliveries', ''))
        from (select from matched u where u.leased_by is null limit 1) unleased
   ) announced
   order by b.ordinal, m.number;
end
$$;

-- As before, by the new function.
create or replace function posthorn.record_events(events json)
returns table (ordinal bigint, id text, created_at timestamptz)
language plpgsql as $$
#variable_conflict use_column
declare
  fault record;
begin
  select e.ordinal - 1 as index,
         case
           when e.type is null or e.type !~ '^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*){1,2}$'
             then format('type %L is not of the form domain.action', e.type)
           when e.type like 'webhook.%' then 'webhook.* events are recorded by the service itself'
           when e.organization_id is null or e.organization_id !~ '^ORG-[!-~]{1,120}$'
             then format('organization_id %L is not ORG-…', e.organization_id)
           when e.workspace_id !~ '^WS-[!-~]{1,120}$' then format('workspace_id %L is not WS-…', e.workspace_id)
           when coalesce(e.actor ->> 'type', '') !~ '^[a-z][a-z0-9_]{0,63}$' or coalesce(e.actor ->> 'id', '') !~ '^[!-~]{1,128}$'
             then 'actor is not {"type": …, "id": …}'
           when coalesce(e.subject ->> 'type', '') !~ '^[a-z][a-z0-9_]{0,63}$' or coalesce(e.subject ->> 'id', '') !~ '^[!-~]{1,128}$'
             then 'subject is not {"type": …, "id": …}'
           when coalesce(json_typeof(e.payload), '') <> 'object' then 'payload is not a JSON object'
         end as reason
    into fault
    from rows from (json_to_recordset(events) as (
           type text, organization_id text, workspace_id text, actor json, subject json, payload json
         )) with ordinality as e (type, organization_id, workspace_id, actor, subject, payload, ordinal)
   order by 2 nulls last
   limit 1;
  if fault.reason is not null then
    raise exception 'posthorn: event %: %', fault.index, fault.reason using errcode = 'invalid_parameter_value';
  end if;
  return query
  select b.ordinal, b.id, b.created_at
    from posthorn.record_and_lease(events, null, '{}') b
   order by b.ordinal;
end
$$;

-- As claim_deliveries, with two differences: where nothing is due it ends at once, and what it brings is bounded in
-- bytes too. `cut` tells that this bound left something behind.
create function posthorn.claim_due(
  node int, busy text[], per_webhook int, webhooks_max int, bytes_max bigint, not_before timestamptz
)
returns table (
  organization_id text, webhook_id text, delivery_created_at timestamptz, delivery_id text, attempts smallint,
  event_id text, type text, event_created_at timestamptz, workspace_id text, payload json, cut boolean
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
as $$
#variable_conflict use_column
begin
  if not exists (
    select from posthorn.deliveries d
     where d.status = 'pending' and d.leased_by is null and d.created_at >= not_before
       and d.due_at <= clock_timestamp()
  ) then
    return;
  end if;

  return query
  with recursive waiting as (
    (select d.organization_id, d.webhook_id, d.due_at
       from posthorn.deliveries d
      where d.status = 'pending' and d.leased_by is null and d.created_at >= not_before
      order by d.organization_id, d.webhook_id, d.due_at
      limit 1)
    union all
    select next.organization_id, next.webhook_id, next.due_at
      from waiting w
     cross join lateral (
           select d.organization_id, d.webhook_id, d.due_at
             from posthorn.deliveries d
            where d.status = 'pending' and d.leased_by is null and d.created_at >= not_before
              and (d.organization_id, d.webhook_id) > (w.organization_id, w.webhook_id)
            order by d.organization_id, d.webhook_id, d.due_at
            limit 1) next
  ), turns as materialized (
    select w.organization_id, w.webhook_id
      from waiting w
     where w.due_at <= clock_timestamp() and w.webhook_id <> all (busy)
       -- Nothing is sent to one that is unverified; what waits for it waits until it is verified again.
       and not exists (select from posthorn.webhooks h
                        where h.organization_id = w.organization_id and h.id = w.webhook_id
                          and h.status = 'unverified')
     order by row_number() over (partition by w.organization_id order by random()), random()
     limit webhooks_max
  ), picked as materialized (
    select d.*
      from turns t
     cross join lateral (
           select d.organization_id, d.webhook_id, d.created_at, d.id, d.due_at, d.bytes
             from posthorn.deliveries d
            where d.organization_id = t.organization_id and d.webhook_id = t.webhook_id
              and d.status = 'pending' and d.leased_by is null and d.created_at >= not_before
              and d.due_at <= clock_timestamp()
            order by d.due_at
            limit per_webhook
              for update skip locked) d
  ), counted as materialized (
    -- Each webhook's first, then each one's second and so on, as far as the bytes go; the very first always.
    select p.*, sum(p.size) over (order by p.turn, p.webhook_id rows unbounded preceding) - p.size as before
      from (select p.*, coalesce(p.bytes, 1000)::bigint as size,
                   row_number() over (partition by p.webhook_id order by p.due_at, p.id) as turn
              from picked p) p
  ), leased as (
    update posthorn.deliveries d
       set leased_by = node
      from counted p
     where d.organization_id = p.organization_id and d.webhook_id = p.webhook_id
       and d.created_at = p.created_at and d.id = p.id
       and p.before < bytes_max
    returning d.*
  )
  select l.organization_id, l.webhook_id, l.created_at, l.id, l.attempts,
         l.event_id, l.event_type, l.event_created_at, e.workspace_id, e.payload,
         exists (select from counted c where c.before >= bytes_max)
    from leased l
    left join posthorn.events e
      on e.organization_id = l.organization_id and e.created_at = l.event_created_at and e.id = l.event_id
   order by l.due_at;
end
$$;

-- As settle_deliveries, from arrays, one for each column: reading them costs a fraction of what JSON does. Waits are
-- counted from the database's own clock, by which they are claimed. Answers which were written where that
-- is asked for.
create function posthorn.settle_outcomes(
  node int, days text[], organization_ids text[], webhook_ids text[], created_ms float8[], ids text[],
  statuses text[], attempts int[], waits_ms float8[], attempted_ms float8[], http_statuses int[],
  errors text[], durations_ms int[], responses text[], answer boolean
)
returns table (delivery_id text)
language plpgsql
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
as $$
declare
  day       text;
  statement text;
begin
  foreach day in array days loop
    -- A day that retention has dropped since: one such outcome must not keep the others from being written.
    continue when to_regclass(format('posthorn.%I', 'deliveries_' || day)) is null;
    statement := format($statement$
      update posthorn.%I d
         set status = o.status,
             due_at = coalesce(clock_timestamp() + o.wait_ms * interval '1 millisecond', d.due_at),
             leased_by = null,
             attempts = o.attempts,
             attempted_at = case when o.attempts > d.attempts then to_timestamp(o.attempted_ms / 1000) else d.attempted_at end,
             http_status = case when o.attempts > d.attempts then o.http_status else d.http_status end,
             error = case when o.attempts > d.attempts then o.error else coalesce(o.error, d.error) end,
             duration_ms = case when o.attempts > d.attempts then o.duration_ms else d.duration_ms end,
             response = case when o.attempts > d.attempts then o.response else d.response end,
             earlier_attempts = case
               -- One that is given up keeps what its last attempt came to apart from why it ended.
               when d.attempts = 0 or (o.attempts = d.attempts and o.error is null) then d.earlier_attempts
               else coalesce(d.earlier_attempts, '[]') || jsonb_build_object(
                 'attempt', d.attempts, 'attempted_at', d.attempted_at, 'http_status', d.http_status,
                 'error', d.error, 'duration_ms', d.duration_ms, 'response', d.response)
             end
        from unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) as o (
               organization_id, webhook_id, created_ms, id, status, attempts, wait_ms, attempted_ms,
               http_status, error, duration_ms, response)
       where d.organization_id = o.organization_id and d.webhook_id = o.webhook_id
         and d.created_at = to_timestamp(o.created_ms / 1000)::timestamptz(3) and d.id = o.id
         -- Said so that the planner expects most rows to fit, as they do, and goes by the primary key.
         and case when d.status = 'pending' then d.leased_by = $1 else false end
         -- An outcome that was written before, though its answer was lost, does not count twice.
         and d.attempts = case when o.attempted_ms is null then o.attempts else o.attempts - 1 end$statement$,
      'deliveries_' || day);
    if answer then
      return query execute statement || ' returning d.id'
        using node, organization_ids, webhook_ids, created_ms, ids, statuses, attempts, waits_ms,
              attempted_ms, http_statuses, errors, durations_ms, responses;
    else
      execute statement
        using node, organization_ids, webhook_ids, created_ms, ids, statuses, attempts, waits_ms,
              attempted_ms, http_statuses, errors, durations_ms, responses;
    end if;
  end loop;
end
$$;
