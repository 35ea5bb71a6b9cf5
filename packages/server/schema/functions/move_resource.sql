-- Makes a move, sets the attributes in `changes` and increments `counter`. Locks the row until the caller's transaction
-- ends, so the second of two concurrent moves sees the result of the first. Returns the resource before and after the
-- move, only `before` if its status does not allow the move, and null if the resource does not exist.
create or replace function posthorn.move_resource(
  resource_kind text, resource_id text, made text, changes jsonb, counter text
) returns json
language plpgsql
-- As in record_events: the caller needs no privileges on any table.
security definer set search_path = pg_catalog, pg_temp
-- A plan that was made while the table was small would keep scanning all of it.
set jit = off set enable_seqscan = off
as $$
declare
  before   posthorn.resources;
  after    posthorn.resources;
  moved_at timestamptz;
begin
  select * into before
    from posthorn.resources r
   where r.id = resource_id and r.kind = resource_kind
     for update;
  if not found then
    return null;
  end if;

  after := before;
  after.status := (
    select m.to_status
      from posthorn.lifecycle_moves m
     where m.kind = resource_kind and m.move = made and m.from_status = before.status);
  if after.status is null then
    return json_build_object('before', posthorn.resource_json(before));
  end if;

  -- Never before the last change, even if the clock was set back.
  moved_at := greatest(date_trunc('milliseconds', clock_timestamp()), before.updated_at);
  after.attributes := before.attributes || changes;
  if counter is not null then
    after.attributes := after.attributes
      || jsonb_build_object(counter, coalesce((before.attributes ->> counter)::bigint, 0) + 1);
  end if;
  after.updated_at := moved_at;
  after.status_since := case when after.status = before.status then before.status_since else moved_at end;
  update posthorn.resources r
     set status = after.status, status_since = after.status_since,
         attributes = after.attributes, updated_at = after.updated_at
   where r.organization_id = before.organization_id and r.id = before.id;
  return json_build_object('before', posthorn.resource_json(before), 'after', posthorn.resource_json(after));
end
$$;

revoke execute on function posthorn.move_resource(text, text, text, jsonb, text) from public;
