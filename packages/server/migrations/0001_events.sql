-- Events: immutable, partitioned by the day they were recorded (UTC), kept 90 days.

create table posthorn.events (
  organization_id text collate "C" not null,
  created_at      timestamptz(3) not null,
  id              text collate "C" not null,
  type            text collate "C" not null,
  workspace_id    text collate "C",
  actor_type      text collate "C" not null,
  actor_id        text collate "C" not null,
  subject_type    text collate "C" not null,
  subject_id      text collate "C" not null,
  -- json, not jsonb: key order and numbers stay as they were recorded.
  payload         json not null,
  primary key (organization_id, created_at, id)
) partition by range (created_at);

-- One index for each filter, each in the order of a page, so that a page is always one ordered index scan.
create index events_by_workspace    on posthorn.events (organization_id, workspace_id, created_at, id);
create index events_by_type         on posthorn.events (organization_id, type, created_at, id);
create index events_by_subject_type on posthorn.events (organization_id, subject_type, created_at, id);
create index events_by_subject      on posthorn.events (organization_id, subject_id, created_at, id);
create index events_by_actor        on posthorn.events (organization_id, actor_id, created_at, id);

-- What the producer's idempotency keys stood for, 24 h long.
create table posthorn.event_keys (
  organization_id text collate "C" not null,
  key             text collate "C" not null,
  event_id        text collate "C" not null,
  created_at      timestamptz(3) not null,
  primary key (organization_id, key)
);

create index event_keys_by_age on posthorn.event_keys (created_at);

-- Creates the partition of one day where it is missing. Attaching takes a lock that readers and writers
-- of other partitions do not notice; `create table … partition of` would stop them all.
create function posthorn.ensure_partition(parent text, day date) returns void
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
exception
  -- Somebody else made it while we waited for the lock: the look-up above may not see that yet.
  when duplicate_table then null;
end
$$;

-- Eight characters of Crockford's base 32 for the low 40 bits of a number.
create function posthorn.base32(n bigint) returns text
language sql immutable strict parallel safe
return
  substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((n >> 35) & 31)::int + 1, 1) ||
  substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((n >> 30) & 31)::int + 1, 1) ||
  substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((n >> 25) & 31)::int + 1, 1) ||
  substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((n >> 20) & 31)::int + 1, 1) ||
  substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((n >> 15) & 31)::int + 1, 1) ||
  substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((n >> 10) & 31)::int + 1, 1) ||
  substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((n >>  5) & 31)::int + 1, 1) ||
  substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((n      ) & 31)::int + 1, 1);

-- The first 18 of a ULID's 26 characters: 48 bits of time (10 characters) and 40 random bits.
create function posthorn.ulid_head(at_ms bigint, high bigint) returns text
language sql immutable strict parallel safe
return substr(posthorn.base32(at_ms >> 40), 7, 2) || posthorn.base32(at_ms) || posthorn.base32(high);

create function posthorn.epoch_ms(at timestamptz) returns bigint
language sql immutable strict parallel safe
return floor(extract(epoch from at) * 1000)::bigint;

-- A recording transaction shows from before it takes its time until it ends, by a shared advisory lock
-- whose key is that time. Readers that follow the stream in ascending order stop before the earliest of
-- them: whatever commits later sorts after all they have seen. (Transaction ids alone cannot tell: one
-- with the smaller id may take its time later than one with the larger id that is still open.)
-- Once a transaction, as its earliest time is the one that counts: a lock for each of some thousand calls
-- would fill the server's lock table.
create function posthorn.announce_recording() returns timestamptz
language plpgsql as $$
declare
  this_transaction text := pg_current_xact_id()::text;
begin
  if current_setting('posthorn.announced', true) is distinct from this_transaction then
    perform pg_advisory_xact_lock_shared((331::bigint << 44) | posthorn.epoch_ms(clock_timestamp()));
    -- Local, so a rollback to a savepoint takes it back together with the lock.
    perform set_config('posthorn.announced', this_transaction, true);
  end if;
  return date_trunc('milliseconds', clock_timestamp());
end
$$;

-- Events before this time are settled: no transaction can add one there any more. It waits for the
-- current millisecond to end, so that whatever was acknowledged before the call is before the horizon.
create function posthorn.event_horizon() returns timestamptz
language plpgsql as $$
declare
  tick timestamptz := date_trunc('milliseconds', clock_timestamp()) + interval '1 millisecond';
  earliest_ms bigint;
begin
  while clock_timestamp() < tick loop
    perform pg_sleep(0.0002);
  end loop;
  select min(((classid::bigint << 32) | objid::bigint) & ((1::bigint << 44) - 1))
    into earliest_ms
    from pg_locks
   where locktype = 'advisory'
     and objsubid = 1
     and classid::bigint >> 12 = 331
     and database = (select oid from pg_database where datname = current_database());
  return least(tick, to_timestamp(earliest_ms / 1000.0));
end
$$;
