-- A backlog in bundles: what no node has room for is one row for each recording and webhook, too, until a node
-- claims it whole. So it is written no more often than what is sent at once, however long producers are ahead.

-- Null: it waits for any node.
alter table posthorn.bundles alter leased_by drop not null;
-- How many deliveries it has, and the bytes of all their payloads, for the bounds on what a claim brings.
alter table posthorn.bundles add size int not null generated always as (cardinality(ordinals)) stored;
alter table posthorn.bundles add bytes bigint not null default 0;

create index bundles_waiting on posthorn.bundles (organization_id, webhook_id, created_at, head)
 where leased_by is null;

-- As before. Besides, what goes to no node is bundled.
create or replace function posthorn.record_and_bundle(
  types text[], organization_ids text[], workspace_ids text[], actor_types text[], actor_ids text[],
  subject_types text[], subject_ids text[], keys text[], undelivered boolean[], payloads json[],
  node int, saturated text[]
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
  -- One that waits is claimed in one piece: more than this is left as rows, of which a claim takes some.
  waiting_max constant int := 1024 * 1024;
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
  ), shares as materialized (
    select b.organization_id, w.id as webhook_id,
           array_agg(b.ordinal::int order by b.ordinal) as ordinals,
           -- Each webhook's deliveries are numbered in a row, after those of the webhook before.
           base + (sum(count(*)) over (order by b.organization_id, w.id) - count(*))::bigint as zero,
           case when w.id = any (saturated) then null else node end as leased_by,
           sum(b.bytes) as bytes,
           count(*) >= bundle_min and (
             (node is not null and w.id <> all (saturated)) or sum(b.bytes) <= waiting_max) as bundled
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
  select null, null, null, s.zero, s.webhook_id, s.ordinals, s.bundled
    from shares s
   where s.leased_by is not null
   order by 1 nulls last;
end
$$;

-- Rows for what was in these bundles and has none yet: to be claimed by any node, or ended at once. Answers how
-- many there are. A day at a time, by the name of its partition: a plan that is kept over midnight would be one for
-- an empty partition.
create function posthorn.unbundle(taken posthorn.bundles[], state text default 'pending', reason text default null)
returns bigint
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  day    date;
  rows   bigint;
  opened bigint := 0;
begin
  for day in
    select distinct (t.created_at at time zone 'UTC')::date from unnest(taken) t
  loop
    -- Its events are no longer kept.
    continue when to_regclass('posthorn.events_' || to_char(day, 'YYYYMMDD')) is null;
    perform posthorn.ensure_partition('deliveries', day);
    execute format($statement$
      with contents as materialized (
        -- Apart, so that each event is looked up by its key. Joined the other way round, each event of a
        -- recording would be held against each place in its bundle.
        select t.organization_id, t.webhook_id, t.created_at, u.id, u.event_id
          from unnest($1) t
         cross join posthorn.bundled(t) u
         where (t.created_at at time zone 'UTC')::date = $2
      )
      insert into posthorn.deliveries
             (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at, due_at, bytes,
              status, error)
      select c.organization_id, c.webhook_id, e.created_at, c.id, e.id, e.type, e.created_at, e.created_at,
             e.bytes, $3, $4
        from contents c
        join posthorn.%I e
          on e.organization_id = c.organization_id and e.created_at = c.created_at and e.id = c.event_id
      -- Those that were settled.
      on conflict do nothing
    $statement$, 'events_' || to_char(day, 'YYYYMMDD')) using taken, day, state, reason;
    get diagnostics rows = row_count;
    opened := opened + rows;
  end loop;
  return opened;
end
$$;

-- As before.
create or replace function posthorn.open_bundles(holders int[]) returns bigint
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  opened_max constant int := 20000;
  taken      posthorn.bundles[];
begin
  with counted as (
    select b.*,
           sum(b.size) over (order by b.created_at, b.head, b.webhook_id rows unbounded preceding) - b.size as before
      from posthorn.bundles b
     where b.leased_by = any (holders)
  ), gone as (
    delete from posthorn.bundles b
     using (select * from counted where before < opened_max) c
     where b.organization_id = c.organization_id and b.webhook_id = c.webhook_id
       and b.created_at = c.created_at and b.head = c.head
    returning b as bundle
  )
  select array_agg(bundle) into taken from gone;
  return posthorn.unbundle(taken);
end
$$;

-- As before, but organizations with many webhooks have no better a chance than others.
create or replace function posthorn.claim_due(
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
  ), shares as materialized (
    select w.organization_id, w.webhook_id,
           row_number() over (partition by w.organization_id order by random()) as share
      from waiting w
     where w.due_at <= clock_timestamp() and w.webhook_id <> all (busy)
       -- Nothing is sent to one that is unverified; what waits for it waits until it is verified again.
       and not exists (select from posthorn.webhooks h
                        where h.organization_id = w.organization_id and h.id = w.webhook_id
                          and h.status = 'unverified')
  ), turns as materialized (
    -- Another lot than within the organization: the first of many would have a low one.
    select s.organization_id, s.webhook_id, s.share, random() as lot
      from shares s
     order by 3, 4
     limit webhooks_max
  ), picked as materialized (
    select d.*, t.share, t.lot
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
    select p.*, sum(p.size) over (order by p.turn, p.share, p.lot rows unbounded preceding) - p.size as before
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

-- Bundles that wait, for webhooks that are not `busy`. Organizations take turns, and within one its webhooks, the one
-- that has waited the longest first: one bundle of each, as far as `first_max` deliveries go, then further ones of
-- those that are `answering`, as far as `further_max` do. They are leased whole; but one with more than `per_webhook`
-- deliveries, of a webhook that is not answering, gets rows instead, of which claims take a few. A last line tells
-- which webhooks have something left (`remaining`), whether it is worth asking `again` at once, and whether all
-- webhooks were looked at (`complete`).
create function posthorn.claim_bundles(
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
    select c.*, sum(c.size) over earlier - c.size as size_before, sum(c.bytes) over earlier - c.bytes as bytes_before
      from candidates c
     where c.answers or c.turn = 1
    window earlier as (order by c.turn, c.position rows unbounded preceding)
  ), chosen as materialized (
    select c.place, c.answers or c.size <= per_webhook as leasable
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
    delete from posthorn.bundles b where b.ctid = any (opened_places);
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

-- Ends what waits in bundles for a webhook that takes nothing any more, some of it at a time: failed where it is disabled,
-- while of a webhook that was deleted nothing is left. Answers whether there may be more.
create function posthorn.end_bundles(organization text, webhook text) returns boolean
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  bundles_max    constant int := 2000;
  deliveries_max constant int := 2000;
  state          text;
  places         tid[];
  taken          posthorn.bundles[];
begin
  with standing as materialized (
    select max(w.status) as status
      from posthorn.webhooks w
     where w.organization_id = organization and w.id = webhook
  ), waiting as materialized (
    select b.ctid as place, b.size, b.created_at, b.head
      from posthorn.bundles b
     where b.organization_id = organization and b.webhook_id = webhook and b.leased_by is null
       and coalesce((select s.status from standing s), 'disabled') = 'disabled'
     order by b.created_at, b.head
     limit bundles_max
       for update skip locked
  ), counted as materialized (
    select w.place, sum(w.size) over (order by w.created_at, w.head rows unbounded preceding) - w.size as before
      from waiting w
  )
  select s.status, (select array_agg(c.place) from counted c where s.status is null or c.before < deliveries_max)
    into state, places
    from standing s;
  with gone as (
    delete from posthorn.bundles b where b.ctid = any (places) returning b as bundle
  )
  select array_agg(g.bundle) into taken from gone g;
  if state is not null then
    perform posthorn.unbundle(taken, 'failed', 'disabled');
  end if;
  return taken is not null;
end
$$;

-- As before. What waits has no row of any of its deliveries, so none is looked for.
create or replace function posthorn.bundled_of(organization text, webhook text)
returns table (id text, event_id text, created_at timestamptz)
language sql stable
as $$
  select u.id, u.event_id, b.created_at
    from posthorn.bundles b
   cross join posthorn.bundled(b) u
   where b.organization_id = organization and b.webhook_id = webhook
     and (b.leased_by is null
          or not exists (select from posthorn.deliveries d
                          where d.organization_id = b.organization_id and d.webhook_id = b.webhook_id
                            and d.created_at = b.created_at and d.id = u.id));
$$;

-- As before, but for bundles that nobody holds on purpose.
create or replace function posthorn.release_orphans() returns bigint
language plpgsql
set enable_seqscan = off
as $$
declare
  holder   int;
  holders  int[];
  released bigint := 0;
  n        bigint;
begin
  loop
    select d.leased_by into holder
      from posthorn.deliveries d
     where d.status = 'pending' and d.leased_by is not null and d.leased_by > coalesce(holder, -1)
     order by d.leased_by
     limit 1;
    exit when not found;
    continue when exists (select from posthorn.nodes where id = holder);
    update posthorn.deliveries d set leased_by = null where d.status = 'pending' and d.leased_by = holder;
    get diagnostics n = row_count;
    released := released + n;
  end loop;
  select array_agg(distinct b.leased_by) into holders
    from posthorn.bundles b
   where b.leased_by is not null and not exists (select from posthorn.nodes where id = b.leased_by);
  return released + case when holders is null then 0 else posthorn.open_bundles(holders) end;
end
$$;
