-- Creates a resource in the status that its creation leads to.
create or replace function posthorn.create_resource(
  resource_kind text, prefix text, organization_id text, workspace_id text, attributes jsonb
) returns json
language plpgsql as $$
#variable_conflict use_variable
declare
  now_at  timestamptz := date_trunc('milliseconds', clock_timestamp());
  created posthorn.resources;
begin
  insert into posthorn.resources
         (organization_id, id, kind, workspace_id, status, status_since, attributes, created_at, updated_at)
  select organization_id, posthorn.new_id(prefix, now_at), resource_kind, workspace_id, m.to_status, now_at,
         attributes, now_at, now_at
    from posthorn.lifecycle_moves m
   where m.kind = resource_kind and m.from_status is null
  returning * into created;
  return posthorn.resource_json(created);
end
$$;
