-- Refuses a change of status that no row of lifecycle_moves allows, and any change of organization, id or kind. Without
-- the built-in types, there are no lifecycles: refuses everything.
create or replace function posthorn.check_resource() returns trigger
language plpgsql as $$
declare
  previous_status text := case when tg_op = 'UPDATE' then old.status end;
  is_arriving     boolean := exists (
    select from posthorn.relocations where organization_id = new.organization_id and state = 'arriving');
begin
  if not is_arriving and not (select builtin from posthorn.catalogue) then
    raise exception 'posthorn: there are no lifecycles, because the built-in event types are off'
      using errcode = 'feature_not_supported';
  end if;
  if tg_op = 'UPDATE'
     and (old.organization_id, old.id, old.kind) is distinct from (new.organization_id, new.id, new.kind) then
    raise exception 'posthorn: the organization, id and kind of % cannot change', old.id using errcode = 'check_violation';
  end if;
  -- If the organization arrives from another cell, that cell has already checked the status.
  if previous_status is distinct from new.status and not is_arriving and not exists (
    select from posthorn.lifecycle_moves m
     where m.kind = new.kind and m.to_status = new.status
       and m.from_status is not distinct from previous_status
  ) then
    raise exception 'posthorn: no move of % leads from % to %', new.kind, coalesce(previous_status, 'nothing'), new.status
      using errcode = 'check_violation';
  end if;
  return new;
end
$$;

create or replace trigger resources_move_by_the_table before insert or update on posthorn.resources
  for each row execute function posthorn.check_resource();
