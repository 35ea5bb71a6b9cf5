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

-- As before, and what the audit log needs in addition.
create or replace function posthorn.ensure_partition(parent text, day date) returns void
language plpgsql as $$
declare
  partition text := format('%s_%s', parent, to_char(day, 'YYYYMMDD'));
begin
  if to_regclass('posthorn.' || quote_ident(partition)) is not null then
    return;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('posthorn.partitions', 0));
  execute format('create table posthorn.%I (like posthorn.%I including all)', partition, parent);
  execute format(
    'alter table posthorn.%I attach partition posthorn.%I for values from (%L) to (%L)',
    parent, partition, day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC'
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
language plpgsql as $$
declare
  given record;
  chain posthorn.audit_chains;
  entry posthorn.audit_log;
begin
  for given in
    select e.*
      from rows from (json_to_recordset(entries) as (
             organization_id text, workspace_id text, actor json, action text, target json,
             request_id text, source_address text, changes json
           )) with ordinality as e (
             organization_id, workspace_id, actor, action, target, request_id, source_address, changes, ordinal)
     -- In the order of the organizations, so that two transactions cannot wait for each other.
     order by e.organization_id collate "C", e.ordinal
  loop
    insert into posthorn.audit_chains as c (organization_id, length, hash, last_at)
    values (given.organization_id, 0, '', '-infinity')
    on conflict do nothing;
    select * into chain from posthorn.audit_chains where organization_id = given.organization_id for update;

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

    perform posthorn.ensure_partition('audit_log', (entry.created_at at time zone 'UTC')::date);
    insert into posthorn.audit_log select entry.*;
    update posthorn.audit_chains
       set length = entry.position, hash = entry.hash, last_at = entry.created_at
     where organization_id = entry.organization_id;
  end loop;
end
$$;

-- As before; of the audit log it notes first where the chains go on.
create or replace function posthorn.drop_partitions(parent text, keep_from timestamptz) returns setof text
language plpgsql
set lock_timeout = '2s'
as $$
declare
  partition text;
begin
  for partition in
    -- Materialized: the planner may otherwise read the date from the names of all tables there are.
    with days as materialized (
      select c.relname as name
        from pg_inherits i
        join pg_class c on c.oid = i.inhrelid
       where i.inhparent = ('posthorn.' || quote_ident(parent))::regclass
    )
    select d.name
      from days d
     where (to_date(right(d.name, 8), 'YYYYMMDD') + 1)::timestamp at time zone 'UTC' <= keep_from
     order by d.name
  loop
    if parent = 'audit_log' then
      execute format($statement$
        update posthorn.audit_chains c
           set dropped = last.position, dropped_hash = last.hash
          from (select distinct on (organization_id) organization_id, position, hash
                  from posthorn.%I
                 order by organization_id, position desc) last
         where c.organization_id = last.organization_id$statement$, partition);
    end if;
    execute format('drop table posthorn.%I', partition);
    return next partition;
  end loop;
end
$$;
