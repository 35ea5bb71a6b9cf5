-- Retention: whole days are dropped, which costs nothing, however much is in them.

-- Drops the partitions of days that ended before `keep_from`; answers their names. Dropping needs the parent
-- for a moment: where it is not to be had soon, this gives way and the next run tries again.
create function posthorn.drop_partitions(parent text, keep_from timestamptz) returns setof text
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
    execute format('drop table posthorn.%I', partition);
    return next partition;
  end loop;
end
$$;
