-- Refuses all changes of the audit log. Only the entries of an organization that is forgotten here can be deleted: see
-- posthorn.relocations.
create or replace function posthorn.refuse_change() returns trigger
language plpgsql
as $$
begin
  if tg_op = 'DELETE' and exists (select from posthorn.relocations r
                                   where r.organization_id = old.organization_id and r.state = 'forgotten') then
    return old;
  end if;
  raise exception 'posthorn: the audit log is append-only' using errcode = 'insufficient_privilege';
end
$$;

-- Applies to every role, even superusers. Partitions inherit the first trigger; ensure_partition adds the second.
create or replace trigger audit_log_stays before update or delete on posthorn.audit_log
  for each row execute function posthorn.refuse_change();
create or replace trigger audit_log_stays_whole before truncate on posthorn.audit_log
  for each statement execute function posthorn.refuse_change();
