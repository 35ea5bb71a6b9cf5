-- The engine's two statements. Both are functions so that the planner can be held to index scans: their
-- plans are kept, and one made while the tables were empty would read all of them ever after.

-- Leases up to `per_webhook` due deliveries of each of up to `webhooks_max` webhooks to a node. First which
-- webhooks have something waiting, by skipping from one to the next in the index: that costs with their
-- number and never with anyone's backlog. Organizations take turns. `not_before` is a time before which no
-- delivery waits, so that old partitions are left alone.
create function posthorn.claim_deliveries(
  node int, busy text[], per_webhook int, webhooks_max int, not_before timestamptz
)
returns table (
  organization_id text, webhook_id text, delivery_created_at timestamptz, delivery_id text, attempts smallint,
  event_id text, type text, event_created_at timestamptz, workspace_id text, payload json
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
           select d.organization_id, d.webhook_id, d.created_at, d.id
             from posthorn.deliveries d
            where d.organization_id = t.organization_id and d.webhook_id = t.webhook_id
              and d.status = 'pending' and d.leased_by is null and d.created_at >= not_before
              and d.due_at <= clock_timestamp()
            order by d.due_at
            limit per_webhook
              for update skip locked) d
  ), leased as (
    update posthorn.deliveries d
       set leased_by = node
      from picked p
     where d.organization_id = p.organization_id and d.webhook_id = p.webhook_id
       and d.created_at = p.created_at and d.id = p.id
    returning d.*
  )
  select l.organization_id, l.webhook_id, l.created_at, l.id, l.attempts,
         l.event_id, l.event_type, l.event_created_at, e.workspace_id, e.payload
    from leased l
    left join posthorn.events e
      on e.organization_id = l.organization_id and e.created_at = l.event_created_at and e.id = l.event_id
   order by l.due_at;
end
$$;

-- Writes the outcomes of attempts, many in one statement, and gives the leases back; only where the lease
-- is still the node's. Where `attempts` has not grown none was made, and what is known of the last one
-- stays. Answers which were written. The statement is made for the one partition it concerns, seldom two:
-- a kept plan over all partitions was made while they were empty, and compared every outcome with every
-- delivery ever after (0.5 ms instead of 20 µs for each).
create function posthorn.settle_deliveries(node int, outcomes json)
returns table (delivery_id text)
language plpgsql
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
as $$
declare
  day text;
begin
  for day in
    select distinct to_char(o.created_at at time zone 'UTC', 'YYYYMMDD')
      from json_to_recordset(outcomes) as o (created_at timestamptz)
  loop
    -- A day that retention has dropped since: one such outcome must not keep the others from being written.
    continue when to_regclass(format('posthorn.%I', 'deliveries_' || day)) is null;
    return query execute format($statement$
      update posthorn.%I d
         set status = o.status,
             due_at = coalesce(o.due_at, d.due_at),
             leased_by = null,
             attempts = o.attempts,
             attempted_at = case when o.attempts > d.attempts then o.attempted_at else d.attempted_at end,
             http_status = case when o.attempts > d.attempts then o.http_status else d.http_status end,
             error = case when o.attempts > d.attempts then o.error else coalesce(o.error, d.error) end,
             duration_ms = case when o.attempts > d.attempts then o.duration_ms else d.duration_ms end,
             response = case when o.attempts > d.attempts then o.response else d.response end,
             earlier_attempts = case
               when d.attempts = 0 or o.attempts = d.attempts then d.earlier_attempts
               else coalesce(d.earlier_attempts, '[]') || jsonb_build_object(
                 'attempt', d.attempts, 'attempted_at', d.attempted_at, 'http_status', d.http_status,
                 'error', d.error, 'duration_ms', d.duration_ms, 'response', d.response)
             end
        from json_to_recordset($2) as o (
               organization_id text, webhook_id text, created_at timestamptz, id text, status text,
               attempts smallint, due_at timestamptz, attempted_at timestamptz, http_status smallint,
               error text, duration_ms int, response text)
       where d.organization_id = o.organization_id and d.webhook_id = o.webhook_id
         and d.created_at = o.created_at and d.id = o.id
         -- Said so that the planner expects most rows to fit, as they do, and goes by the primary key.
         and case when d.status = 'pending' then d.leased_by = $1 else false end
         -- An outcome that was written before, though its answer was lost, does not count twice.
         and d.attempts = case when o.attempted_at is null then o.attempts else o.attempts - 1 end
      returning d.id$statement$, 'deliveries_' || day)
      using node, outcomes;
  end loop;
end
$$;

-- The first day that still has an unfinished delivery, so that claims can leave older partitions alone.
create function posthorn.oldest_unfinished_day() returns timestamptz
language plpgsql as $$
declare
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
      return to_date(right(partition::text, 8), 'YYYYMMDD')::timestamp at time zone 'UTC';
    end if;
  end loop;
  return null;
end
$$;

-- Leases of nodes that have not been heard of in time go back to the pool. Answers how many.
create function posthorn.release_dead_nodes() returns bigint
language sql
set enable_seqscan = off
as $$
  with dead as (
    delete from posthorn.nodes n where n.alive_until < clock_timestamp() returning n.id
  ), released as (
    update posthorn.deliveries d
       set leased_by = null
     where d.status = 'pending' and d.leased_by in (select id from dead)
    returning 1
  )
  select count(*) from released;
$$;

-- Deliveries can be leased to a node that was declared dead in the same moment, unknown to itself: nobody
-- would ever release them. This looks at who holds any, from one holder to the next, and releases what is
-- held by nobody that exists. Answers how many.
create function posthorn.release_orphans() returns bigint
language plpgsql
set enable_seqscan = off
as $$
declare
  holder   int;
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
  return released;
end
$$;

-- Replays: sending past events again, as a job that survives a restart.
create table posthorn.replays (
  organization_id text collate "C" not null,
  webhook_id      text collate "C" not null,
  id              text collate "C" not null,
  status          text not null default 'running' check (status in ('running', 'done', 'cancelled')),
  from_at         timestamptz(3) not null,
  to_at           timestamptz(3) not null,
  event_types     text[],
  only_failed     boolean not null,
  total           int not null,
  done            int not null default 0,
  -- The last event that was looked at.
  position_at     timestamptz(3) not null,
  position_id     text collate "C" not null default '',
  created_at      timestamptz(3) not null,
  primary key (organization_id, webhook_id, id)
);

create index replays_running on posthorn.replays (created_at) where status = 'running';

-- Answers of public POSTs that carried an Idempotency-Key, 24 h long.
create table posthorn.request_keys (
  organization_id text collate "C" not null,
  token_id        text collate "C" not null,
  route           text not null,
  key             text not null,
  fingerprint     bytea not null,
  created_at      timestamptz(3) not null,
  -- Null while the first request is still running.
  status          smallint,
  body            text,
  location        text,
  primary key (organization_id, token_id, route, key)
);

create index request_keys_by_age on posthorn.request_keys (created_at);
