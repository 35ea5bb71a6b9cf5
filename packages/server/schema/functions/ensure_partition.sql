-- Creates the partition for `day` if it is missing: a month of the audit log, a week of other tables. Attaching a table
-- does not block readers and writers of other partitions; `create table … partition of` would block them all.
create or replace function posthorn.ensure_partition(parent text, day date) returns void
language plpgsql
as $$
declare
  start     date := date_trunc(case parent when 'audit_log' then 'month' else 'week' end, day::timestamp)::date;
  partition text := format('%s_%s', parent, to_char(start, 'YYYYMMDD'));
  -- A time in this form means the same in every session, whatever its DateStyle and TimeZone.
  bound     text := 'YYYY-MM-DD"T"HH24:MI:SS"Z"';
  index     regclass;
begin
  if to_regclass('posthorn.' || quote_ident(partition)) is not null then
    return;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('posthorn.partitions', 0));
  execute format('create table posthorn.%I (like posthorn.%I including all)', partition, parent);
  -- These indexes have no duplicate keys, so looking for duplicates whenever a page is full is wasted work.
  if parent = 'events' then
    for index in
      select i.indexrelid from pg_index i
        join pg_class c on c.oid = i.indexrelid
        join pg_am a on a.oid = c.relam and a.amname = 'btree'
       where i.indrelid = ('posthorn.' || quote_ident(partition))::regclass and not i.indisunique
    loop
      execute format('alter index %s set (deduplicate_items = off)', index);
    end loop;
  end if;
  execute format(
    'alter table posthorn.%I attach partition posthorn.%I for values from (%L) to (%L)',
    parent, partition, to_char(start::timestamp, bound),
    to_char(posthorn.partition_end(parent, start) at time zone 'UTC', bound));
  if parent = 'audit_log' then
    execute format(
      'create trigger audit_log_stays_whole before truncate on posthorn.%I
         for each statement execute function posthorn.refuse_change()', partition);
    execute format('revoke update, delete, truncate on posthorn.%I from %I', partition, current_user);
  end if;
exception
  -- Another session created it after the check above, while this one waited for the lock.
  when duplicate_table then null;
end
$$;
