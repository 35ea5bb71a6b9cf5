-- Bundles: what a recording hands to its own node, written in one row instead of one for each delivery. A
-- delivery that is attempted at once, as nearly all are, is then written once, when it is known what came
-- of it, and never updated.

-- The statements of the version before the last: no node that calls them can be running any more.
drop function posthorn.record_batch(json, int, text[]);
drop function posthorn.claim_deliveries(int, text[], int, int, timestamptz);
drop function posthorn.settle_deliveries(int, json);

-- First deliveries of the events of one recording to one webhook, all in the memory of one node. They have
-- no rows of their own until they are settled, or until the node is gone and the bundle is opened. The row
-- stays until the last of them is settled, so some of them may have their rows already.
create table posthorn.bundles (
  organization_id text collate "C" not null,
  webhook_id      text collate "C" not null,
  -- Of the deliveries and of their events, which is the same.
  created_at      timestamptz(3) not null,
  -- How all their identifiers begin, after the prefix; a number of ten hexadecimal digits follows.
  head            text collate "C" not null,
  leased_by       int not null,
  -- The n-th delivery's number is delivery_zero + n, its event's is event_zero + ordinals[n].
  delivery_zero   bigint not null,
  event_zero      bigint not null,
  ordinals        int[] not null,
  primary key (organization_id, webhook_id, created_at, head)
);

create index bundles_leased on posthorn.bundles (leased_by);

-- Whoever may record may write here: one statement writes deliveries and bundles.
do $$
declare
  role text;
begin
  for role in
    select case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end
      from pg_class c
     cross join aclexplode(c.relacl) a
     where c.oid = 'posthorn.deliveries'::regclass and a.privilege_type = 'INSERT' and a.grantee <> c.relowner
  loop
    execute format('grant insert on posthorn.bundles to %s', role);
  end loop;
end
$$;

-- Inlined wherever it is called: it costs what the expression costs.
create function posthorn.numbered(prefix text, head text, number bigint) returns text
language sql immutable parallel safe
return prefix || head || upper(to_hex(number) collate "C");

-- What is in a bundle, whether or not it has a row of its own by now.
create function posthorn.bundled(b posthorn.bundles) returns table (id text, event_id text)
language sql stable
as $$
  select posthorn.numbered('WDLV-', b.head, b.delivery_zero + o.place),
         posthorn.numbered('EVT-', b.head, b.event_zero + o.ordinal)
    from unnest(b.ordinals) with ordinality as o (ordinal, place);
$$;

-- Of one webhook: what a node holds in bundles and has not settled yet.
create function posthorn.bundled_of(organization text, webhook text)
returns table (id text, event_id text, created_at timestamptz)
language sql stable
as $$
  select u.id, u.event_id, b.created_at
    from posthorn.bundles b
   cross join posthorn.bundled(b) u
   where b.organization_id = organization and b.webhook_id = webhook
     and not exists (select from posthorn.deliveries d
                      where d.organization_id = b.organization_id and d.webhook_id = b.webhook_id
                        and d.created_at = b.created_at and d.id = u.id);
$$;

-- As record_and_lease, with bundles, and from arrays, one for each column: reading them costs a fraction of what
-- JSON does. Answers how the identifiers begin and from which number they count (`ordinal` 0, `id`,
-- `created_at`, `zero`): the n-th event's number is `zero` + n. Then the events that were recorded before, under the
-- same idempotency key. Then, for each webhook of which some were born leased, the ordinals of their events;
-- the n-th of them has the number `zero` + n.
create function posthorn.record_and_bundle(
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
           case when w.id = any (saturated) then null else node end as leased_by
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
           (organization_id, webhook_id, created_at, head, leased_by, delivery_zero, event_zero, ordinals)
    select s.organization_id, s.webhook_id, recorded_at, head, s.leased_by, s.zero, base, s.ordinals
      from shares s
     where s.leased_by is not null and cardinality(s.ordinals) >= bundle_min
  ), queued as (
    insert into posthorn.deliveries
           (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at,
            due_at, leased_by, bytes)
    select s.organization_id, s.webhook_id, recorded_at, posthorn.numbered('WDLV-', head, s.zero + o.place),
           b.id, b.type, b.created_at, recorded_at, s.leased_by, b.bytes
      from shares s
     cross join unnest(s.ordinals) with ordinality as o (ordinal, place)
      join batch b on b.ordinal = o.ordinal
     where s.leased_by is null or cardinality(s.ordinals) < bundle_min
  )
  select 0::bigint, head, recorded_at, base, null, null::int[], null::boolean
   -- Rows nobody holds are announced at commit; a node that cannot listen finds them by its poll.
   from (select count(pg_notify('posthorn_deliveries', ''))
           from (select from shares u where u.leased_by is null limit 1) unleased) announced
   union all
  select b.ordinal, b.id, b.created_at, null, null, null, null
    from batch b
   where not b.fresh
   union all
  select null, null, null, s.zero, s.webhook_id, s.ordinals, cardinality(s.ordinals) >= bundle_min
    from shares s
   where s.leased_by is not null
   order by 1 nulls last;
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
  with batch as materialized (
    select e.*
      from rows from (json_to_recordset(events) as (
             type text, organization_id text, workspace_id text, actor json, subject json, payload json,
             idempotency_key text
           )) with ordinality as e (
             type, organization_id, workspace_id, actor, subject, payload, idempotency_key, ordinal
           )
  ), columns as materialized (
    select array_agg(e.type order by e.ordinal) as types,
           array_agg(e.organization_id order by e.ordinal) as organization_ids,
           array_agg(e.workspace_id order by e.ordinal) as workspace_ids,
           array_agg(e.actor ->> 'type' order by e.ordinal) as actor_types,
           array_agg(e.actor ->> 'id' order by e.ordinal) as actor_ids,
           array_agg(e.subject ->> 'type' order by e.ordinal) as subject_types,
           array_agg(e.subject ->> 'id' order by e.ordinal) as subject_ids,
           array_agg(e.idempotency_key order by e.ordinal) as keys,
           array_agg(e.payload order by e.ordinal) as payloads
      from batch e
    having count(*) > 0
  ), answered as materialized (
    select r.ordinal, r.id, r.created_at, r.zero
      from columns c
     cross join posthorn.record_and_bundle(
             c.types, c.organization_ids, c.workspace_ids, c.actor_types, c.actor_ids, c.subject_types,
             c.subject_ids, c.keys, null, c.payloads, null, '{}') r
  ), head as materialized (
    select a.id, a.created_at, a.zero from answered a where a.ordinal = 0
  )
  select e.ordinal,
         coalesce(k.id, posthorn.numbered('EVT-', h.id, h.zero + e.ordinal)),
         coalesce(k.created_at, h.created_at)
    from batch e
   cross join head h
    left join answered k on k.ordinal = e.ordinal
   order by e.ordinal;
end
$$;

-- Writes the outcomes of deliveries that were in bundles, each as its only row, and ends the bundles of
-- which these were the last; only where the node is not taken for dead yet, because then its bundles were
-- opened for others. `again`: these may have been written before, though the answer was lost; they do not
-- count twice. Answers which were written where that is asked for.
create function posthorn.settle_bundled(
  node int, organization_ids text[], webhook_ids text[], created_ms float8[], ids text[], event_ids text[],
  types text[], sizes int[], statuses text[], tries int[], waits_ms float8[], attempted_ms float8[],
  http_statuses int[], errors text[], durations_ms int[], responses text[],
  done_organization_ids text[], done_webhook_ids text[], done_ms float8[], done_heads text[],
  again boolean, answer boolean
)
returns table (delivery_id text)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  written text[];
begin
  -- Whoever takes the node for dead deletes its row first, and waits for this to end.
  perform from posthorn.nodes n where n.id = node for key share;
  if not found then
    return;
  end if;

  with settled as (
    insert into posthorn.deliveries
           (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at, due_at, bytes,
            status, attempts, attempted_at, http_status, error, duration_ms, response)
    select o.organization_id, o.webhook_id, at.created, o.id, o.event_id, o.type, at.created,
           coalesce(clock_timestamp() + o.wait_ms * interval '1 millisecond', at.created), o.size,
           o.status, o.attempts, to_timestamp(o.attempted_ms / 1000), o.http_status, o.error, o.duration_ms,
           o.response
      from unnest(organization_ids, webhook_ids, created_ms, ids, event_ids, types, sizes, statuses, tries,
                  waits_ms, attempted_ms, http_statuses, errors, durations_ms, responses) as o (
             organization_id, webhook_id, created_ms, id, event_id, type, size, status, attempts,
             wait_ms, attempted_ms, http_status, error, duration_ms, response)
     cross join lateral (select to_timestamp(o.created_ms / 1000)::timestamptz(3)) as at (created)
     -- Not by `exists`: while the table is small that would be planned as reading all of it, and stay so.
     where not again or (
             select d.id from posthorn.deliveries d
              where d.organization_id = o.organization_id and d.webhook_id = o.webhook_id
                and d.created_at = at.created and d.id = o.id) is null
    returning id
  )
  select array_agg(id) filter (where answer) into written from settled;

  delete from posthorn.bundles b
   using unnest(done_organization_ids, done_webhook_ids, done_ms, done_heads) as o (
           organization_id, webhook_id, created_ms, head)
   where b.organization_id = o.organization_id and b.webhook_id = o.webhook_id
     and b.created_at = to_timestamp(o.created_ms / 1000)::timestamptz(3) and b.head = o.head
     -- Said in a way no index can serve: the way in is the bundle, not all that the node holds.
     and coalesce(b.leased_by, 0) = node;

  return query select unnest(written);
end
$$;

-- Bundles of nodes that are gone: whatever in them has no row yet gets one, to be claimed by any node. Not of all
-- at once, however many there are: a statement that takes too long is given up, and would be for ever. What is
-- left has a holder that does not exist, and is found by release_orphans. Answers how many got a row.
create function posthorn.open_bundles(holders int[]) returns bigint
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  opened_max constant int := 20000;
  day        date;
  opened     bigint;
begin
  for day in
    select distinct (b.created_at at time zone 'UTC')::date from posthorn.bundles b where b.leased_by = any (holders)
  loop
    perform posthorn.ensure_partition('deliveries', day);
  end loop;
  with counted as (
    select b.*,
           sum(cardinality(b.ordinals)) over (
             order by b.created_at, b.head, b.webhook_id rows unbounded preceding) - cardinality(b.ordinals) as before
      from posthorn.bundles b
     where b.leased_by = any (holders)
  ), taken as (
    delete from posthorn.bundles b
     using (select * from counted where before < opened_max) c
     where b.organization_id = c.organization_id and b.webhook_id = c.webhook_id
       and b.created_at = c.created_at and b.head = c.head
    returning b as bundle
  ), contents as materialized (
    -- Apart, so that each event is looked up by its key. Joined the other way round, each event of a recording
    -- would be held against each place in its bundle.
    select (t.bundle).organization_id, (t.bundle).webhook_id, (t.bundle).created_at, u.id, u.event_id
      from taken t
     cross join posthorn.bundled(t.bundle) u
  ), queued as (
    insert into posthorn.deliveries
           (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at, due_at, bytes)
    select c.organization_id, c.webhook_id, e.created_at, c.id, e.id, e.type, e.created_at, e.created_at, e.bytes
      from contents c
      join posthorn.events e
        on e.organization_id = c.organization_id and e.created_at = c.created_at and e.id = c.event_id
    -- Those that were settled.
    on conflict do nothing
    returning 1
  )
  select count(*) into opened from queued;
  return opened;
end
$$;

-- As before, and what the dead had in bundles.
create or replace function posthorn.release_dead_nodes() returns bigint
language plpgsql
set enable_seqscan = off
as $$
declare
  dead     int[];
  released bigint;
begin
  -- One that is just settling is left to the next time: waiting for it would keep us from all others.
  with overdue as (
    select n.id from posthorn.nodes n where n.alive_until < clock_timestamp() for update skip locked
  ), gone as (
    delete from posthorn.nodes n using overdue o where n.id = o.id returning n.id
  )
  select array_agg(id) into dead from gone;
  if dead is null then
    return 0;
  end if;
  update posthorn.deliveries d set leased_by = null where d.status = 'pending' and d.leased_by = any (dead);
  get diagnostics released = row_count;
  return released + posthorn.open_bundles(dead);
end
$$;

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
   where not exists (select from posthorn.nodes where id = b.leased_by);
  return released + case when holders is null then 0 else posthorn.open_bundles(holders) end;
end
$$;

-- As before, bundles included. They are looked at first: what is settled meanwhile has its row by then.
create or replace function posthorn.oldest_unfinished_day() returns timestamptz
language plpgsql as $$
declare
  bundled   timestamptz := (select date_trunc('day', min(b.created_at), 'UTC') from posthorn.bundles b);
  partition regclass;
  found     boolean;
begin
  for partition in
    select inhrelid::regclass from pg_inherits
     where inhparent = 'posthorn.deliveries'::regclass
     order by inhrelid::regclass::text
  loop
    execute format(
      'select exists (select from %1$s where status = ''pending'' and leased_by is null)
           or exists (select from %1$s where status = ''pending'' and leased_by is not null)', partition)
      into found;
    if found then
      return least(bundled, to_date(right(partition::text, 8), 'YYYYMMDD')::timestamp at time zone 'UTC');
    end if;
  end loop;
  return bundled;
end
$$;

-- As before. Besides, no two entries of the indexes of events are alike: looking for some to merge, whenever a
-- page is full, is in vain.
create or replace function posthorn.ensure_partition(parent text, day date) returns void
language plpgsql as $$
declare
  start     date := posthorn.partition_start(parent, day);
  partition text := format('%s_%s', parent, to_char(start, 'YYYYMMDD'));
  index     regclass;
begin
  if to_regclass('posthorn.' || quote_ident(partition)) is not null then
    return;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('posthorn.partitions', 0));
  execute format('create table posthorn.%I (like posthorn.%I including all)', partition, parent);
  if parent = 'events' then
    for index in
      select i.indexrelid from pg_index i
       where i.indrelid = ('posthorn.' || quote_ident(partition))::regclass and not i.indisunique
    loop
      execute format('alter index %s set (deduplicate_items = off)', index);
    end loop;
  end if;
  execute format(
    'alter table posthorn.%I attach partition posthorn.%I for values from (%L) to (%L)',
    parent, partition, start::timestamp at time zone 'UTC', posthorn.partition_end(parent, start)
  );
  if parent = 'audit_log' then
    execute format(
      'create trigger audit_log_stays_whole before truncate on posthorn.%I
         for each statement execute function posthorn.refuse_change()', partition);
    execute format('revoke update, delete, truncate on posthorn.%I from %I', partition, current_user);
  end if;
exception
  -- Somebody else made it while we waited for the lock: the look-up above may not see that yet.
  when duplicate_table then null;
end
$$;
