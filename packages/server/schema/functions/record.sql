-- Records a batch of events with one delivery for each matching webhook that is active or paused. Nothing else matches
-- events with webhooks, except replays. Takes one array per column, which is much cheaper than JSON. An event with
-- `undelivered` gets no deliveries.
--
-- A node says how much room it has: `rooms` for the `known` webhooks, `room_each` for others, `room` in total (null: no
-- limit). What fits goes to the node in one `handoffs` row; the rest, or everything if there is no node, waits in
-- `backlog`.
--
-- Returns, in this order:
--   ordinal 0: the head of all identifiers (`id`), the time, and `base`: the n-th event has the number base + n
--   for each event already recorded with the same idempotency key: its ordinal, id and time
--   for each active webhook, if there is a node: the `revision` that was matched, its `base`, the ordinals handed to the node
--   (null: none), and whether any others went to the backlog
create or replace function posthorn.record(
  types text[], organization_ids text[], workspace_ids text[], actor_types text[], actor_ids text[],
  subject_types text[], subject_ids text[], keys text[], undelivered boolean[], payloads json[],
  node int, known text[], rooms int[], room_each int, room int
)
returns table (
  ordinal bigint, id text, created_at timestamptz, base bigint,
  webhook_id text, revision int, ordinals int[], has_backlog boolean
)
language plpgsql
-- Keeps one plan: planning costs as much as recording ten events. A plan for an empty table would keep scanning it.
-- Before PostgreSQL 18, a plan that scans despite these settings would be compiled just in time for each execution.
set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  recorded_at timestamptz := posthorn.announce_recording(organization_ids);
  entropy     text := replace(gen_random_uuid()::text, '-', '');
  head        text := left(posthorn.ulid_head(
                        posthorn.epoch_ms(recorded_at), ('x' || left(entropy, 10))::bit(40)::bigint), 16);
  -- At least 2^38, so that every number has ten hexadecimal digits, and far enough below the maximum to count up.
  event_base  bigint := (1::bigint << 38) | (('x' || right(entropy, 10))::bit(40)::bigint & ((1::bigint << 38) - 1));
  today       date := (recorded_at at time zone 'UTC')::date;
  -- An object, because a join would compare each webhook of the batch with each known one.
  room_of     jsonb := jsonb_object(known, rooms::text[]);
  bytes       int;
  fitting     record;
begin
  perform posthorn.require_here(organization_ids, types[1]);
  perform posthorn.ensure_partition('events', today);
  perform posthorn.ensure_partition('deliveries', today);

  if keys is not null then
    -- Another transaction can hold a key for as long as it likes. The service, which always says how much room it has,
    -- must learn of this before its own time limit of 2.5 s: without a response, it would not know what it has leased.
    -- Other callers wait as long as they have chosen to.
    if room is not null then
      perform set_config('lock_timeout', '2s', true);
    end if;
    -- In the order of the keys, so that two batches with the same keys cannot deadlock.
    insert into posthorn.event_keys as k (organization_id, key, event_id, created_at)
    select distinct on (e.organization_id, e.key)
           e.organization_id, e.key, posthorn.numbered('EVT-', head, event_base + e.ordinal), recorded_at
      from unnest(organization_ids, keys) with ordinality as e (organization_id, key, ordinal)
     where e.key is not null
     order by e.organization_id, e.key, e.ordinal
    on conflict (organization_id, key) do update
       set event_id = excluded.event_id, created_at = excluded.created_at
     where k.created_at <= recorded_at - interval '24 hours';
  end if;

  -- One event whose deliveries all fit, as in most recordings of a quiet service: these small statements take 30% less
  -- CPU time than the one below, which handles everything else.
  if cardinality(types) = 1 and keys is null and undelivered is null and node is not null then
    select array_agg(m.id order by m.id) as ids, array_agg(m.revision order by m.id) as revisions,
           count(*)::int as size, count(*) <= room and coalesce(bool_and(
             not m.is_paused and not m.has_filter
             and coalesce((room_of ->> m.id)::int, room_each) > 0), true) as complete
      into fitting
      from posthorn.matching_webhooks(organization_ids[1], workspace_ids[1], types[1],
                                      case when types[1] like 'webhook.%' then subject_ids[1] end) m;
    if fitting.complete then
      bytes := octet_length(payloads[1]::text);
      insert into posthorn.events
             (organization_id, created_at, id, type, workspace_id,
              actor_type, actor_id, subject_type, subject_id, payload, bytes)
      values (organization_ids[1], recorded_at, posthorn.numbered('EVT-', head, event_base + 1), types[1],
              workspace_ids[1], actor_types[1], actor_ids[1], subject_types[1], subject_ids[1], payloads[1], bytes);
      if fitting.size > 0 then
        insert into posthorn.handoffs
               (head, created_at, leased_by, event_base, bytes, organization_ids, webhook_ids, bases, sizes, ordinals)
        values (head, recorded_at, node, event_base, bytes::bigint * fitting.size,
                array_fill(organization_ids[1], array[fitting.size]), fitting.ids,
                array(select event_base + n from generate_series(0, fitting.size - 1) n),
                array_fill(1, array[fitting.size]), array_fill(1, array[fitting.size]));
      end if;
      ordinal := 0;
      id := head;
      created_at := recorded_at;
      base := event_base;
      return next;
      ordinal := null;
      id := null;
      created_at := null;
      ordinals := array[1];
      has_backlog := false;
      for n in 1..fitting.size loop
        base := event_base + n - 1;
        webhook_id := fitting.ids[n];
        revision := fitting.revisions[n];
        return next;
      end loop;
      return;
    end if;
  end if;

  return query
  with batch as materialized (
    select e.ordinal, e.type, e.organization_id, e.workspace_id, e.actor_type, e.actor_id, e.subject_type,
           e.subject_id, e.undelivered, e.payload, octet_length(e.payload::text) as bytes,
           coalesce(k.event_id, posthorn.numbered('EVT-', head, event_base + e.ordinal)) as id,
           coalesce(k.created_at, recorded_at) as created_at,
           k.event_id is null
             or k.event_id = posthorn.numbered('EVT-', head, event_base + e.ordinal) as fresh
      from unnest(types, organization_ids, workspace_ids, actor_types, actor_ids, subject_types, subject_ids,
                  keys, undelivered, payloads) with ordinality as e (
             type, organization_id, workspace_id, actor_type, actor_id, subject_type, subject_id,
             key, undelivered, payload, ordinal)
      left join posthorn.event_keys k on k.organization_id = e.organization_id and k.key = e.key
  ), recorded as (
    insert into posthorn.events
           (organization_id, created_at, id, type, workspace_id,
            actor_type, actor_id, subject_type, subject_id, payload, bytes)
    select b.organization_id, b.created_at, b.id, b.type, b.workspace_id,
           b.actor_type, b.actor_id, b.subject_type, b.subject_id, b.payload, b.bytes
      from batch b
     where b.fresh
  ), scopes as (
    -- The fields that decide who gets an event. Webhooks are looked up once for all events of a batch that share them.
    select b.organization_id, b.workspace_id, b.type, case when b.type like 'webhook.%' then b.subject_id end as about,
           array_agg(b.ordinal::int) as ordinals, array_agg(b.bytes) as sizes
      from batch b
     where b.fresh and b.undelivered is not true
     group by 1, 2, 3, 4
  ), matched as (
    select s.organization_id, w.id as webhook_id, w.revision, w.is_paused,
           array_agg(e.ordinal order by e.ordinal) as ordinals, count(*)::int as size, sum(e.bytes) as bytes,
           -- Every share reserves a number per event, so a delivery's number is its share's base plus its ordinal.
           event_base + (row_number() over (order by s.organization_id, w.id) - 1) * cardinality(types) as base
      from scopes s
     cross join posthorn.matching_webhooks(s.organization_id, s.workspace_id, s.type, s.about) w
     cross join unnest(s.ordinals, s.sizes) as e (ordinal, bytes)
     -- The payloads are examined only if one of these webhooks has a filter.
     where not w.has_filter
        or (select posthorn.filter_passes(types, organization_ids, workspace_ids, actor_types, actor_ids,
                                          subject_types, subject_ids, payloads)) ? (w.id || ' ' || e.ordinal)
     group by s.organization_id, w.id, w.revision, w.is_paused
  ), fitting as (
    select m.*, case when node is null or m.is_paused then 0
                     else least(m.size, greatest(coalesce((room_of ->> m.webhook_id)::int, room_each), 0)) end as fits
      from matched m
  ), shares as materialized (
    -- Small shares first, so that a webhook with few deliveries does not wait because of one with many.
    select f.*,
           greatest(0, least(f.fits, room - coalesce(sum(f.fits) over (
             order by f.size, f.webhook_id rows between unbounded preceding and 1 preceding), 0)))::int as taken
      from fitting f
  ), handed as (
    insert into posthorn.handoffs
           (head, created_at, leased_by, event_base, bytes, organization_ids, webhook_ids, bases, sizes, ordinals)
    select head, recorded_at, node, event_base, sum(s.bytes * s.taken / s.size)::bigint,
           array_agg(s.organization_id order by s.base), array_agg(s.webhook_id order by s.base),
           array_agg(s.base order by s.base), array_agg(s.taken order by s.base),
           (select array_agg(o.ordinal order by t.base, o.ordinal)
              from shares t
             cross join unnest(t.ordinals[:t.taken]) as o (ordinal)
             where t.taken > 0)
      from shares s
     where s.taken > 0
    having count(*) > 0
  ), waiting as (
    insert into posthorn.backlog
           (organization_id, webhook_id, created_at, head, first, event_base, base, ordinals, bytes)
    select s.organization_id, s.webhook_id, recorded_at, head, s.ordinals[s.taken + 1], event_base, s.base,
           s.ordinals[s.taken + 1:], s.bytes * (s.size - s.taken) / s.size
      from shares s
     where s.taken < s.size
  )
  select 0::bigint, head, recorded_at, event_base, null, null::int, null::int[], null::boolean
    -- The result tells a recording node what went to the backlog. Without a node, notify all nodes.
    from (select count(posthorn.announce_waiting()) from (select from shares where node is null limit 1) s) announced
   union all
  select b.ordinal, b.id, b.created_at, null, null, null, null, null
    from batch b
   where not b.fresh
   union all
  select null, null, null, s.base, s.webhook_id, s.revision,
         case when s.taken > 0 then s.ordinals[:s.taken] end, s.taken < s.size
    from shares s
   where node is not null and not s.is_paused
   order by 1 nulls last;
end
$$;
