-- Returns the horizon of an organization (null: the earliest of all): no transaction can add an event before it. Waits
-- for the current millisecond to end, so that the horizon is later than all acknowledged events unless a recording is
-- open.
create or replace function posthorn.event_horizon(organization text) returns timestamptz
language plpgsql
as $$
declare
  tick        timestamptz := date_trunc('milliseconds', clock_timestamp()) + interval '1 millisecond';
  bucket      int := posthorn.horizon_bucket(organization);
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
     and classid::bigint >> 24 = 83
     and (bucket is null or (classid::bigint >> 12) & 4095 in (bucket, 4095))
     and database = (select oid from pg_database where datname = current_database());
  return least(tick, to_timestamp(earliest_ms / 1000.0),
               (select r.stopped_at from posthorn.relocations r where r.organization_id = organization and r.state <> 'here'));
end
$$;
