-- A node says how many deliveries it has room for: an event for fifty webhooks is fifty of them, which it cannot know
-- before they are recorded. What is more waits in bundles.

-- As `record_and_bundle`, but no more than `room` deliveries are leased; null: all. A node is also told of whom it got
-- nothing: their shares come without `ordinals`. A bundle that waits is bounded in number, too, not in bytes alone.
create function posthorn.record_and_place(
  types text[], organization_ids text[], workspace_ids text[], actor_types text[], actor_ids text[],
  subject_types text[], subject_ids text[], keys text[], undelivered boolean[], payloads json[],
  node int, saturated text[], room int
)
returns table (
  ordinal bigint, id text, created_at timestamptz, zero bigint,
  webhook_id text, ordinals int[], bundled boolean
)
language plpgsql
-- Its plan is made once and kept: planning it anew costs as much as recording ten events. Made on an empty
-- table it would be a sequential scan, and stay one.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  -- Fewer are cheaper as rows of their own: a bundle is written and deleted.
  bundle_min  constant int := 4;
  -- One that waits is claimed, opened and ended in one piece: more than this is rows, of which a claim takes some.
  waiting_max       constant int := 1000;
  waiting_bytes_max constant int := 1024 * 1024;
  recorded_at timestamptz := posthorn.announce_recording();
  entropy     text := replace(gen_random_uuid()::text, '-', '');
  head        text := left(posthorn.ulid_head(
                        posthorn.epoch_ms(recorded_at), ('x' || left(entropy, 10))::bit(40)::bigint), 16);
  -- From 2^38 on: always ten digits, and room for what is added.
  base        bigint := (1::bigint << 38) | (('x' || right(entropy, 10))::bit(40)::bigint & ((1::bigint << 38) - 1));
  today       date := (recorded_at at time zone 'UTC')::date;
begin
  perform posthorn.ensure_partition('events', today);
  perform posthorn.ensure_partition('deliveries', today);

  if keys is not null then
    -- In the order of the keys, so that two batches with the same keys cannot wait for each other.
    insert into posthorn.event_keys as k (organization_id, key, event_id, created_at)
    select distinct on (e.organization_id, e.key)
           e.organization_id, e.key, posthorn.numbered('EVT-', head, base + e.ordinal), recorded_at
      from unnest(organization_ids, keys) with ordinality as e (organization_id, key, ordinal)
     where e.key is not null
     order by e.organization_id, e.key, e.ordinal
    on conflict (organization_id, key) do update
       set event_id = excluded.event_id, created_at = excluded.created_at
     where k.created_at <= recorded_at - interval '24 hours';
  end if;

  return query
  with batch as materialized (
    select e.ordinal, e.type, e.organization_id, e.workspace_id, e.actor_type, e.actor_id, e.subject_type,
           e.subject_id, e.undelivered, e.payload, octet_length(e.payload::text) as bytes,
           coalesce(k.event_id, posthorn.numbered('EVT-', head, base + e.ordinal)) as id,
           coalesce(k.created_at, recorded_at) as created_at,
           k.event_id is null
             or k.event_id = posthorn.numbered('EVT-', head, base + e.ordinal) as fresh
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
  ), matched as (
    select b.organization_id, w.id as webhook_id,
           array_agg(b.ordinal::int order by b.ordinal) as ordinals,
           -- Each webhook's deliveries are numbered in a row, after those of the webhook before.
           base + (sum(count(*)) over (order by b.organization_id, w.id) - count(*))::bigint as zero,
           w.id = any (saturated) as saturated,
           count(*) as size, sum(b.bytes) as bytes
      from batch b
      join posthorn.webhooks w
        on w.organization_id = b.organization_id
       and w.status = 'active'
       and (w.workspace_id is null or w.workspace_id = b.workspace_id)
       and w.event_types && array[b.type, split_part(b.type, '.', 1) || '.*', '*']
       -- A webhook is not told about itself.
       and not (b.type like 'webhook.%' and b.subject_id = w.id)
     where b.fresh and b.undelivered is not true
     group by b.organization_id, w.id
  ), placed as (
    select m.*,
           -- The small shares first: who has little to send does not wait because another has much.
           case when not m.saturated
                 and coalesce(sum(m.size) over (partition by m.saturated order by m.size, m.webhook_id) <= room, true)
                then node end as leased_by
      from matched m
  ), shares as materialized (
    select p.*,
           p.size >= bundle_min and (
             p.leased_by is not null or (p.size <= waiting_max and p.bytes <= waiting_bytes_max)) as bundled
      from placed p
  ), tied as (
    insert into posthorn.bundles
           (organization_id, webhook_id, created_at, head, leased_by, delivery_zero, event_zero, ordinals, bytes)
    select s.organization_id, s.webhook_id, recorded_at, head, s.leased_by, s.zero, base, s.ordinals, s.bytes
      from shares s
     where s.bundled
  ), queued as (
    insert into posthorn.deliveries
           (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at,
            due_at, leased_by, bytes)
    select s.organization_id, s.webhook_id, recorded_at, posthorn.numbered('WDLV-', head, s.zero + o.place),
           b.id, b.type, b.created_at, recorded_at, s.leased_by, b.bytes
      from shares s
     cross join unnest(s.ordinals) with ordinality as o (ordinal, place)
      join batch b on b.ordinal = o.ordinal
     where not s.bundled
  )
  select 0::bigint, head, recorded_at, base, null, null::int[], null::boolean
   -- What nobody holds is announced at commit; a node that cannot listen finds them by its poll.
   from (select count(pg_notify('posthorn_deliveries', ''))
           from (select from shares u where u.leased_by is null limit 1) unleased) announced
   union all
  select b.ordinal, b.id, b.created_at, null, null, null, null
    from batch b
   where not b.fresh
   union all
  select null, null, null, s.zero, s.webhook_id, case when s.leased_by is not null then s.ordinals end, s.bundled
    from shares s
   where node is not null
   order by 1 nulls last;
end
$$;

-- What nodes of the version before call, and whoever records where no node is.
create or replace function posthorn.record_and_bundle(
  types text[], organization_ids text[], workspace_ids text[], actor_types text[], actor_ids text[],
  subject_types text[], subject_ids text[], keys text[], undelivered boolean[], payloads json[],
  node int, saturated text[]
)
returns table (
  ordinal bigint, id text, created_at timestamptz, zero bigint,
  webhook_id text, ordinals int[], bundled boolean
)
language sql
as $$
  select *
    from posthorn.record_and_place(
           types, organization_ids, workspace_ids, actor_types, actor_ids, subject_types, subject_ids, keys,
           undelivered, payloads, node, saturated, null) r
   where r.webhook_id is null or r.ordinals is not null
   order by r.ordinal nulls last
$$;
