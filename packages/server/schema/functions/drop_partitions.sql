-- Drops the partitions that have no rows from `keep_from` on and that cannot get any at `present`. Returns their names.
-- A week counts by its end; a month of the audit log goes when its last entry is old enough, and the chains store where
-- they continue. Dropping needs a short lock on the parent. If the lock is not free soon, the next run tries again.
create or replace function posthorn.drop_partitions(parent text, keep_from timestamptz, present timestamptz)
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
    -- Materialized, because the planner might otherwise parse a date from the name of every table.
    with starts as materialized (
      select c.relname as name, to_date(right(c.relname, 8), 'YYYYMMDD') as start
        from pg_inherits i
        join pg_class c on c.oid = i.inhrelid
       where i.inhparent = ('posthorn.' || quote_ident(parent))::regclass
    )
    select s.name, posthorn.partition_end(parent, s.start) from starts s order by s.name
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

  -- Before dropping: writers lock their chain first, then the table.
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
