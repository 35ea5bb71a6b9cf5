-- Returns the end of the partition that starts on `start`: a month for the audit log, a week for other tables.
create or replace function posthorn.partition_end(parent text, start date) returns timestamptz
language sql immutable
as $$
  select (start + case parent when 'audit_log' then interval '1 month' else interval '1 week' end) at time zone 'UTC'
$$;
