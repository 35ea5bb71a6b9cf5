-- Returns a resource as JSON, with times as numbers, which every driver parses the same way.
create or replace function posthorn.resource_json(resource posthorn.resources) returns json
language sql stable
as $$
  select json_build_object(
    'organization_id', resource.organization_id, 'id', resource.id, 'kind', resource.kind,
    'workspace_id', resource.workspace_id, 'status', resource.status,
    'status_since_ms', posthorn.epoch_ms(resource.status_since), 'attributes', resource.attributes,
    'created_ms', posthorn.epoch_ms(resource.created_at), 'updated_ms', posthorn.epoch_ms(resource.updated_at))
$$;
