-- Refuses a change of status that no row of lifecycle_moves allows, and any change of organization, id or kind.
create or replace function posthorn.check_resource() returns trigger
language plpgsql as $$
declare
  previous_status text := case when tg_op = 'UPDATE' then old.status end;
begin
  if tg_op = 'UPDATE'
     and (old.organization_id, old.id, old.kind) is distinct from (new.organization_id, new.id, new.kind) then
    raise exception 'posthorn: the organization, id and kind of % cannot change', old.id using errcode = 'check_violation';
  end if;
  if previous_status is distinct from new.status and not exists (
    select from posthorn.lifecycle_moves m
     where m.kind = new.kind and m.to_status = new.status
       and m.from_status is not distinct from previous_status
  -- Another cell has already checked the status.
  ) and not exists (select from posthorn.relocations where organization_id = new.organization_id and state = 'arriving') then
    raise exception 'posthorn: no move of % leads from % to %', new.kind, coalesce(previous_status, 'nothing'), new.status
      using errcode = 'check_violation';
  end if;
  return new;
end
$$;

create or replace trigger resources_move_by_the_table before insert or update on posthorn.resources
  for each row execute function posthorn.check_resource();
