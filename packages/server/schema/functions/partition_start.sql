-- Returns the first day of the partition of `day`: a month for the audit log, a week for other tables.
create or replace function posthorn.partition_start(parent text, day date) returns date
language sql immutable
as $$ select date_trunc(case parent when 'audit_log' then 'month' else 'week' end, day::timestamp)::date $$;
