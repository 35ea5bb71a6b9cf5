-- A backlog in bundles: what no node has room for is one row for each recording and webhook, too, until a node
-- claims it whole. So it is written no more often than what is sent at once, however long producers are ahead.

-- Null: it waits for any node.
alter table posthorn.bundles alter leased_by drop not null;
-- Of all its payloads, for the bound on what a claim brings.
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
-- many there are.
create function posthorn.unbundle(taken posthorn.bundles[], state text default 'pending', reason text default null)
returns bigint
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  day    date;
  opened bigint;
begin
  for day in
    select distinct (t.created_at at time zone 'UTC')::date from unnest(taken) t
  loop
    perform posthorn.ensure_partition('deliveries', day);
  end loop;
  with contents as materialized (
    -- Apart, so that each event is looked up by its key. Joined the other way round, each event of a recording
    -- would be held against each place in its bundle.
    select t.organization_id, t.webhook_id, t.created_at, u.id, u.event_id
      from unnest(taken) t
     cross join posthorn.bundled(t) u
  )
  insert into posthorn.deliveries
         (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at, due_at, bytes,
          status, error)
  select c.organization_id, c.webhook_id, e.created_at, c.id, e.id, e.type, e.created_at, e.created_at, e.bytes,
         state, reason
    from contents c
    join posthorn.events e
      on e.organization_id = c.organization_id and e.created_at = c.created_at and e.id = c.event_id
  -- Those that were settled.
  on conflict do nothing;
  get diagnostics opened = row_count;
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
           sum(cardinality(b.ordinals)) over (
             order by b.created_at, b.head, b.webhook_id rows unbounded preceding) - cardinality(b.ordinals) as before
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

-- Bundles that wait, for webhooks that are not `busy`, in turns as claim_due has them: first one of each webhook, then a
-- second of each, as far as the deliveries and bytes go. Those of `answering` webhooks are leased whole. Of any other
-- webhook it is one, and where that has more than `per_webhook` it gets rows instead, of which claims take a few.
-- `more`: there are further ones of this webhook, or rows now; where nothing was leased of it, that is all its line tells.
create function posthorn.claim_bundles(
  node int, busy text[], answering text[], per_webhook int, webhooks_max int, deliveries_max int, bytes_max bigint
)
returns table (
  organization_id text, webhook_id text, created_at timestamptz, head text, delivery_id text,
  event_id text, type text, workspace_id text, payload json, more boolean
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
  looked_at constant int := 100;
  whole     posthorn.bundles[];
  opened    posthorn.bundles[];
  further   text[];
begin
  if not exists (select from posthorn.bundles b where b.leased_by is null) then
    return;
  end if;

  with recursive waiting as (
    (select b.organization_id, b.webhook_id
       from posthorn.bundles b
      where b.leased_by is null
      order by b.organization_id, b.webhook_id
      limit 1)
    union all
    select next.organization_id, next.webhook_id
      from waiting w
     cross join lateral (
           select b.organization_id, b.webhook_id
             from posthorn.bundles b
            where b.leased_by is null and (b.organization_id, b.webhook_id) > (w.organization_id, w.webhook_id)
            order by b.organization_id, b.webhook_id
            limit 1) next
  ), turns as materialized (
    select w.organization_id, w.webhook_id
      from waiting w
     where w.webhook_id <> all (busy)
       and not exists (select from posthorn.webhooks h
                        where h.organization_id = w.organization_id and h.id = w.webhook_id
                          and h.status = 'unverified')
     order by row_number() over (partition by w.organization_id order by random()), random()
     limit webhooks_max
  ), several as materialized (
    select b.bundle
      from turns t
     cross join lateral (
           select b as bundle
             from posthorn.bundles b
            where b.organization_id = t.organization_id and b.webhook_id = t.webhook_id and b.leased_by is null
            order by b.created_at, b.head
            limit looked_at
              for update skip locked) b
     where t.webhook_id = any (answering)
  ), single as materialized (
    select b.bundle
      from turns t
     cross join lateral (
           select b as bundle
             from posthorn.bundles b
            where b.organization_id = t.organization_id and b.webhook_id = t.webhook_id and b.leased_by is null
            order by b.created_at, b.head
            -- Whether there is a second is told.
            limit 2
              for update skip locked) b
     where t.webhook_id <> all (answering)
  ), placed as materialized (
    select p.bundle, (p.bundle).webhook_id as webhook_id, (p.bundle).webhook_id = any (answering) as answers,
           cardinality((p.bundle).ordinals) as deliveries,
           row_number() over (
             partition by (p.bundle).webhook_id order by (p.bundle).created_at, (p.bundle).head) as turn,
           count(*) over (partition by (p.bundle).webhook_id) as found
      from (select * from several union all select * from single) p
  ), counted as materialized (
    select p.*,
           sum(p.deliveries) over earlier - p.deliveries as deliveries_before,
           sum((p.bundle).bytes) over earlier - (p.bundle).bytes as bytes_before
      from placed p
    window earlier as (order by p.turn, p.webhook_id rows unbounded preceding)
  ), judged as materialized (
    select c.bundle, c.webhook_id,
           (c.answers or c.turn = 1) and c.deliveries_before < deliveries_max and c.bytes_before < bytes_max as taken,
           c.answers or c.deliveries <= per_webhook as leasable,
           c.found = looked_at as uncounted
      from counted c
  )
  select array_agg(j.bundle order by (j.bundle).created_at, (j.bundle).head) filter (where j.taken and j.leasable),
         array_agg(j.bundle) filter (where j.taken and not j.leasable),
         array_agg(distinct j.webhook_id) filter (where j.uncounted or not j.taken or not j.leasable)
    into whole, opened, further
    from judged j;

  update posthorn.bundles b
     set leased_by = node
    from unnest(whole) w
   where b.organization_id = w.organization_id and b.webhook_id = w.webhook_id
     and b.created_at = w.created_at and b.head = w.head;

  if opened is not null then
    delete from posthorn.bundles b
     using unnest(opened) o
     where b.organization_id = o.organization_id and b.webhook_id = o.webhook_id
       and b.created_at = o.created_at and b.head = o.head;
    perform posthorn.unbundle(opened);
  end if;

  return query
  with contents as materialized (
    select w.organization_id, w.webhook_id, w.created_at, w.head, u.id, u.event_id
      from unnest(whole) w
     cross join posthorn.bundled(w) u
  )
  select c.organization_id, c.webhook_id, c.created_at, c.head, c.id, c.event_id, e.type, e.workspace_id, e.payload,
         c.webhook_id = any (further)
    from contents c
    join posthorn.events e
      on e.organization_id = c.organization_id and e.created_at = c.created_at and e.id = c.event_id
   union all
  select null, f, null, null, null, null, null, null, null, true
    from unnest(further) f
   where f <> all (coalesce((select array_agg(w.webhook_id) from unnest(whole) w), '{}'));
end
$$;

-- Ends what waits in bundles for a webhook that takes nothing any more: some `at_once` deliveries in any case the first
-- bundle. Without a state nothing is left of them. Answers whether there may be more.
create function posthorn.end_bundles(organization text, webhook text, state text, reason text, at_once int)
returns boolean
language plpgsql
set enable_seqscan = off
as $$
declare
  taken posthorn.bundles[];
begin
  with waiting as materialized (
    select b.*
      from posthorn.bundles b
     where b.organization_id = organization and b.webhook_id = webhook and b.leased_by is null
     order by b.created_at, b.head
     limit greatest(1, at_once / 10)
       for update skip locked
  ), counted as materialized (
    select w.created_at, w.head,
           sum(cardinality(w.ordinals)) over (
             order by w.created_at, w.head rows unbounded preceding) - cardinality(w.ordinals) as before
      from waiting w
  ), gone as (
    delete from posthorn.bundles b
     using (select * from counted where before < at_once) c
     where b.organization_id = organization and b.webhook_id = webhook
       and b.created_at = c.created_at and b.head = c.head
    returning b as bundle
  )
  select array_agg(bundle) into taken from gone;
  if state is not null then
    perform posthorn.unbundle(taken, state, reason);
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
