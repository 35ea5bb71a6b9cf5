create or replace function posthorn.refuse_change() returns trigger
language plpgsql
as $$
begin
  raise exception 'posthorn: the audit log is append-only' using errcode = 'insufficient_privilege';
end
$$;

-- Applies to every role, even superusers. Partitions inherit the first trigger; ensure_partition adds the second.
create or replace trigger audit_log_stays before update or delete on posthorn.audit_log
  for each row execute function posthorn.refuse_change();
create or replace trigger audit_log_stays_whole before truncate on posthorn.audit_log
  for each statement execute function posthorn.refuse_change();
