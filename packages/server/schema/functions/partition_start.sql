-- Returns the first day of the partition that holds `day`: a month of the audit log, a week of everything else.
create or replace function posthorn.partition_start(parent text, day date) returns date
language sql immutable
as $$ select date_trunc(case parent when 'audit_log' then 'month' else 'week' end, day::timestamp)::date $$;
