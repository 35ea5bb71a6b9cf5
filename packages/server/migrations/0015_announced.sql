-- A node that is told of new deliveries is told whose they are: those of a webhook that has enough to do there do not
-- concern it. And a webhook that does not answer gets rows for what is sent to it next, not for all that waits.

-- As before, but the notification names the webhooks, each with a plus sign where its deliveries are in a bundle; it names
-- none where they are too many.
create or replace function posthorn.record_and_place(
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
  -- A notification has less than 8,000 bytes.
  named_bytes_max   constant int := 7999;
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
   from (select count(pg_notify('posthorn_deliveries',
                                case when octet_length(u.names) <= named_bytes_max then u.names else '' end))
           from (select string_agg(s.webhook_id || case when s.bundled then '+' else '' end, ' '
                                   order by s.webhook_id) as names
                   from shares s
                  where s.leased_by is null
                 having count(*) > 0) u) announced
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

-- As before, but one bundle with more than `per_webhook` deliveries, of a webhook that is not answering, gets rows for
-- so many of them, the first; the rest waits on in it.
create or replace function posthorn.claim_bundles(
  node int, busy text[], answering text[], per_webhook int, webhooks_max int, first_max int, further_max int,
  bytes_max bigint
)
returns table (
  organization_id text, webhook_id text, created_at timestamptz, head text, delivery_id text, event_id text,
  type text, workspace_id text, payload json, remaining text[], again boolean, complete boolean
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
as $$
#variable_conflict use_column
declare
  looked_at_max constant int := 250;
  organizations text[];
  webhooks      text[];
  looked_at     int;
  places        tid[];
  whole         posthorn.bundles[];
  opened_places tid[];
  opened        posthorn.bundles[];
  first         posthorn.bundles;
  further       text[];
  day           date;
begin
  if not exists (select from posthorn.bundles b where b.leased_by is null) then
    return;
  end if;

  with recursive waiting as (
    (select b.organization_id, b.webhook_id, b.created_at
       from posthorn.bundles b
      where b.leased_by is null
      order by b.organization_id, b.webhook_id, b.created_at
      limit 1)
    union all
    select next.organization_id, next.webhook_id, next.created_at
      from waiting w
     cross join lateral (
           select b.organization_id, b.webhook_id, b.created_at
             from posthorn.bundles b
            where b.leased_by is null and (b.organization_id, b.webhook_id) > (w.organization_id, w.webhook_id)
            order by b.organization_id, b.webhook_id, b.created_at
            limit 1) next
  ), shares as materialized (
    select w.organization_id, w.webhook_id,
           row_number() over (partition by w.organization_id order by w.created_at, random()) as share
      from waiting w
     where w.webhook_id <> all (busy)
       and not exists (select from posthorn.webhooks h
                        where h.organization_id = w.organization_id and h.id = w.webhook_id
                          and h.status = 'unverified')
  ), turns as materialized (
    select s.organization_id, s.webhook_id, s.share, random() as lot
      from shares s
     order by 3, 4
     limit webhooks_max + 1
  )
  select array_agg(t.organization_id order by t.share, t.lot), array_agg(t.webhook_id order by t.share, t.lot)
    into organizations, webhooks
    from turns t;
  looked_at := greatest(2, looked_at_max / greatest(1, least(cardinality(webhooks), webhooks_max)));

  -- Only what it takes to choose is read of each, and only what is chosen is locked. In one statement: what it sees
  -- keeps its place.
  with candidates as materialized (
    select t.webhook_id, t.webhook_id = any (answering) as answers, t.position, b.place, b.size, b.bytes,
           row_number() over (partition by t.position order by b.created_at, b.head) as turn
      from unnest(organizations, webhooks) with ordinality as t (organization_id, webhook_id, position)
     cross join lateral (
           select b.ctid as place, b.size, b.bytes, b.created_at, b.head
             from posthorn.bundles b
            where b.organization_id = t.organization_id and b.webhook_id = t.webhook_id and b.leased_by is null
            order by b.created_at, b.head
            limit looked_at) b
     where t.position <= webhooks_max
  ), counted as materialized (
    -- Of one that gets rows, only so many count.
    select c.*,
           coalesce(sum(c.part) over earlier, 0) as size_before,
           coalesce(sum(c.bytes * c.part / c.size) over earlier, 0) as bytes_before
      from (select c.*, c.answers or c.size <= per_webhook as leasable,
                   case when c.answers then c.size else least(c.size, per_webhook) end as part
              from candidates c
             where c.answers or c.turn = 1) c
    window earlier as (order by c.turn, c.position rows between unbounded preceding and 1 preceding)
  ), chosen as materialized (
    select c.place, c.leasable
      from counted c
     where c.size_before < case when c.turn = 1 then first_max else further_max end and c.bytes_before < bytes_max
  ), locked as materialized (
    select b.ctid as place, b as bundle
      from posthorn.bundles b
     where b.ctid = any (array(select c.place from chosen c)) and b.leased_by is null
       for update skip locked
  ), taken as materialized (
    select l.place, l.bundle, c.leasable from locked l join chosen c on c.place = l.place
  )
  select array_agg(t.place) filter (where t.leasable),
         array_agg(t.bundle order by (t.bundle).created_at, (t.bundle).head) filter (where t.leasable),
         array_agg(t.place) filter (where not t.leasable),
         array_agg(t.bundle) filter (where not t.leasable),
         (select array_agg(distinct c.webhook_id)
            from candidates c
           where c.turn = looked_at or not exists (select from taken t where t.place = c.place and t.leasable))
    into places, whole, opened_places, opened, further
    from taken t;

  update posthorn.bundles b set leased_by = node where b.ctid = any (places);
  if opened is not null then
    update posthorn.bundles b
       set ordinals = b.ordinals[per_webhook + 1:], delivery_zero = b.delivery_zero + per_webhook,
           bytes = b.bytes - b.bytes * per_webhook / b.size
     where b.ctid = any (opened_places);
    for place in 1..cardinality(opened) loop
      first := opened[place];
      first.ordinals := first.ordinals[:per_webhook];
      opened[place] := first;
    end loop;
    perform posthorn.unbundle(opened);
  end if;

  -- As unbundle does, a day at a time.
  for day in
    select distinct (w.created_at at time zone 'UTC')::date from unnest(whole) w order by 1
  loop
    if to_regclass('posthorn.events_' || to_char(day, 'YYYYMMDD')) is null then
      delete from posthorn.bundles b
       using unnest(whole) w
       where (w.created_at at time zone 'UTC')::date = day
         and b.organization_id = w.organization_id and b.webhook_id = w.webhook_id
         and b.created_at = w.created_at and b.head = w.head;
      continue;
    end if;
    return query execute format($statement$
      with contents as materialized (
        select w.organization_id, w.webhook_id, w.created_at, w.head, u.id, u.event_id
          from unnest($1) w
         cross join posthorn.bundled(w) u
         where (w.created_at at time zone 'UTC')::date = $2
      )
      select c.organization_id, c.webhook_id, c.created_at::timestamptz, c.head, c.id, c.event_id, e.type,
             e.workspace_id, e.payload, null::text[], null::boolean, null::boolean
        from contents c
        join posthorn.%I e
          on e.organization_id = c.organization_id and e.created_at = c.created_at and e.id = c.event_id
    $statement$, 'events_' || to_char(day, 'YYYYMMDD')) using whole, day;
  end loop;

  return query
  select null, null, null::timestamptz, null, null, null, null, null, null::json, coalesce(further, '{}'),
         opened is not null or (whole is not null and cardinality(webhooks) > webhooks_max),
         coalesce(cardinality(webhooks), 0) <= webhooks_max;
end
$$;
