-- Creates a resource in its initial status and returns it.
create or replace function posthorn.create_resource(
  resource_kind text, prefix text, organization_id text, workspace_id text, attributes jsonb
) returns json
language sql
-- As in record_events: the caller needs no privileges on any table.
security definer set search_path = pg_catalog, pg_temp
as $$
  insert into posthorn.resources as r
         (organization_id, id, kind, workspace_id, status, status_since, attributes, created_at, updated_at)
  select $3, posthorn.new_id($2, clock.now), m.kind, $4, m.to_status, clock.now, $5, clock.now, clock.now
    from posthorn.lifecycle_moves m
   cross join (select date_trunc('milliseconds', clock_timestamp())) as clock (now)
   where m.kind = $1 and m.from_status is null
  returning posthorn.resource_json(r)
$$;

revoke execute on function posthorn.create_resource(text, text, text, text, jsonb) from public;
