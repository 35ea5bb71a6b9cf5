-- Creates a resource in the status that its creation leads to.
create or replace function posthorn.create_resource(
  resource_kind text, prefix text, organization_id text, workspace_id text, attributes jsonb
) returns json
language plpgsql as $$
declare
  created_at timestamptz := date_trunc('milliseconds', clock_timestamp());
  created    posthorn.resources;
begin
  created.organization_id := organization_id;
  created.id := posthorn.new_id(prefix, created_at);
  created.kind := resource_kind;
  created.workspace_id := workspace_id;
  created.status := (
    select m.to_status from posthorn.lifecycle_moves m where m.kind = resource_kind and m.from_status is null);
  created.status_since := created_at;
  created.attributes := attributes;
  created.created_at := created_at;
  created.updated_at := created_at;
  insert into posthorn.resources select created.*;
  return posthorn.resource_json(created);
end
$$;
