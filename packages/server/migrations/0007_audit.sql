-- The audit log: one entry for every write by an actor, in the same transaction, kept 12 months. Entries of
-- an organization form a chain: each carries a hash over itself and the one before it, so that one that is
-- changed or missing shows.

create table posthorn.audit_log (
  organization_id text collate "C" not null,
  created_at      timestamptz(3) not null,
  id              text collate "C" not null,
  -- The place in the organization's chain: 1, 2, 3, … without gaps. (created_at, id) sort the same way.
  position        bigint not null,
  workspace_id    text collate "C",
  actor_type      text collate "C" not null,
  actor_id        text collate "C" not null,
  action          text collate "C" not null,
  target_type     text collate "C" not null,
  target_id       text collate "C" not null,
  request_id      text,
  source_address  text,
  changes         json not null,
  hash            bytea not null,
  primary key (organization_id, created_at, id)
) partition by range (created_at);

create index audit_log_by_workspace on posthorn.audit_log (organization_id, workspace_id, created_at, id);
create index audit_log_by_actor     on posthorn.audit_log (organization_id, actor_id, created_at, id);
create index audit_log_by_action    on posthorn.audit_log (organization_id, action, created_at, id);
create index audit_log_by_target    on posthorn.audit_log (organization_id, target_id, created_at, id);
-- Whether a month holds anything from a time on.
create index audit_log_by_time      on posthorn.audit_log using brin (created_at);

-- Where each organization's chain ends, and how much of its beginning retention has dropped.
create table posthorn.audit_chains (
  organization_id text collate "C" primary key,
  length          bigint not null,
  hash            bytea not null,
  last_at         timestamptz(3) not null,
  dropped         bigint not null default 0,
  dropped_hash    bytea not null default ''
);

create function posthorn.refuse_change() returns trigger
language plpgsql as $$
begin
  raise exception 'posthorn: the audit log is append-only' using errcode = 'insufficient_privilege';
end
$$;

-- For every role, the owner and superusers included. Attaching a partition gives it the first of these, and
-- ensure_partition the second.
create trigger audit_log_stays before update or delete on posthorn.audit_log
  for each row execute function posthorn.refuse_change();
create trigger audit_log_stays_whole before truncate on posthorn.audit_log
  for each statement execute function posthorn.refuse_change();
do $$ begin
  execute format('revoke update, delete, truncate on posthorn.audit_log from %I', current_user);
end $$;

-- The day on which a partition begins. Those of the audit log are months: in 370 days a page would have to
-- look, with some 2,200 locks, and there is not enough in one of them.
create function posthorn.partition_start(parent text, day date) returns date
language sql immutable
return case parent when 'audit_log' then date_trunc('month', day::timestamp)::date else day end;

create function posthorn.partition_end(parent text, start date) returns timestamptz
language sql immutable
return (start + case parent when 'audit_log' then interval '1 month' else interval '1 day' end)
  at time zone 'UTC';

-- As before, and what the audit log needs in addition.
create or replace function posthorn.ensure_partition(parent text, day date) returns void
language plpgsql as $$
declare
  start     date := posthorn.partition_start(parent, day);
  partition text := format('%s_%s', parent, to_char(start, 'YYYYMMDD'));
begin
  if to_regclass('posthorn.' || quote_ident(partition)) is not null then
    return;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('posthorn.partitions', 0));
  execute format('create table posthorn.%I (like posthorn.%I including all)', partition, parent);
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

create function posthorn.audit_hash(previous bytea, entry posthorn.audit_log) returns bytea
language sql stable
return sha256(previous || convert_to(json_build_array(
  entry.organization_id, entry.position, entry.id, posthorn.epoch_ms(entry.created_at), entry.workspace_id,
  entry.actor_type, entry.actor_id, entry.action, entry.target_type, entry.target_id,
  entry.request_id, entry.source_address, entry.changes::text)::text, 'UTF8'));

-- Appends entries, given as a JSON array of {organization_id, workspace_id?, actor, action, target,
-- request_id?, source_address?, changes}, in the caller's transaction. The chain of each organization is
-- held until that ends, so call it last: entries become visible in the order of their chain.
create function posthorn.write_audit(entries json) returns void
language plpgsql
-- Its plans are kept, and one that was made while there were few chains would read all of them ever after.
set enable_seqscan = off
-- Somebody else's long transaction on the same chain must not hold a connection for long.
set lock_timeout = '2s'
as $$
declare
  today date := (clock_timestamp() at time zone 'UTC')::date;
  given record;
  chain posthorn.audit_chains;
  entry posthorn.audit_log;
begin
  -- Before any chain is held: whoever makes a partition may already wait for one.
  perform posthorn.ensure_partition('audit_log', today);

  -- All chains before the first entry, as retention takes them, too, and in the order of the organizations,
  -- so that two transactions cannot wait for each other.
  for given in
    select distinct e.organization_id collate "C" as organization_id
      from json_to_recordset(entries) as e (organization_id text)
     order by 1
  loop
    perform from posthorn.audit_chains where organization_id = given.organization_id for update;
    continue when found;
    insert into posthorn.audit_chains (organization_id, length, hash, last_at)
    values (given.organization_id, 0, '', '-infinity')
    on conflict do nothing;
    perform from posthorn.audit_chains where organization_id = given.organization_id for update;
  end loop;

  for given in
    select *
      from json_to_recordset(entries) as (
             organization_id text, workspace_id text, actor json, action text, target json,
             request_id text, source_address text, changes json)
  loop
    select * into strict chain from posthorn.audit_chains where organization_id = given.organization_id;
    entry.organization_id := given.organization_id;
    entry.created_at := greatest(date_trunc('milliseconds', clock_timestamp()), chain.last_at);
    entry.position := chain.length + 1;
    -- After the time comes the place in the chain, so that entries of one millisecond keep their order.
    entry.id := 'AUD-' || left(posthorn.ulid_head(posthorn.epoch_ms(entry.created_at), 0), 10)
      || posthorn.base32(entry.position)
      || posthorn.base32(('x' || left(replace(gen_random_uuid()::text, '-', ''), 10))::bit(40)::bigint);
    entry.workspace_id := given.workspace_id;
    entry.actor_type := given.actor ->> 'type';
    entry.actor_id := given.actor ->> 'id';
    entry.action := given.action;
    entry.target_type := given.target ->> 'type';
    entry.target_id := given.target ->> 'id';
    entry.request_id := given.request_id;
    entry.source_address := given.source_address;
    entry.changes := coalesce(given.changes, '{}');
    entry.hash := posthorn.audit_hash(chain.hash, entry);

    -- The day may have ended while we waited, or the clock have been set back since the last entry.
    if (entry.created_at at time zone 'UTC')::date <> today then
      perform posthorn.ensure_partition('audit_log', (entry.created_at at time zone 'UTC')::date);
    end if;
    insert into posthorn.audit_log select entry.*;
    update posthorn.audit_chains
       set length = entry.position, hash = entry.hash, last_at = entry.created_at
     where organization_id = entry.organization_id;
  end loop;
end
$$;

-- Drops the partitions that hold nothing from `keep_from` on, and into which nothing can come any more at
-- `present`; answers their names. Days of events and deliveries are judged by their end alone. A month of
-- the audit log may go before its end is that old, where its last entries are. Of the log it is noted first
-- where the chains go on. Dropping needs the parent for a moment: where it is not to be had soon, this gives
-- way and the next run tries again.
create function posthorn.drop_partitions(parent text, keep_from timestamptz, present timestamptz)
returns setof text
language plpgsql
set lock_timeout = '500ms'
set enable_seqscan = off
as $$
declare
  partition text;
  ends      timestamptz;
  going     text[] := '{}';
  gone_to   timestamptz;
  needed    boolean;
begin
  for partition, ends in
    -- Materialized: the planner may otherwise read the date from the names of all tables there are.
    with starts as materialized (
      select c.relname as name, to_date(right(c.relname, 8), 'YYYYMMDD') as start
        from pg_inherits i
        join pg_class c on c.oid = i.inhrelid
       where i.inhparent = ('posthorn.' || quote_ident(parent))::regclass
    )
    select s.name, posthorn.partition_end(parent, s.start)
      from starts s
     order by s.name
  loop
    needed := ends > keep_from;
    if needed and parent = 'audit_log' and ends <= present then
      execute format('select exists (select from posthorn.%I where created_at >= $1)', partition)
        into needed using keep_from;
    end if;
    exit when needed;
    going := going || partition;
    gone_to := ends;
  end loop;

  -- For all that goes and before any of it goes: writers take their chain first, then the table.
  if parent = 'audit_log' and cardinality(going) > 0 then
    update posthorn.audit_chains c
       set dropped = last.position, dropped_hash = last.hash
      from posthorn.audit_chains k
     cross join lateral (
           select a.position, a.hash
             from posthorn.audit_log a
            where a.organization_id = k.organization_id and a.created_at < gone_to
            order by a.created_at desc, a.id desc
            limit 1) last
     where c.organization_id = k.organization_id and last.position > c.dropped;
  end if;
  foreach partition in array going loop
    execute format('drop table posthorn.%I', partition);
    return next partition;
  end loop;
end
$$;
