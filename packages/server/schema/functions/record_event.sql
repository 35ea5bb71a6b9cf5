-- Records one event inside the caller's transaction and returns its ID.
create or replace function posthorn.record_event(
  type text, organization_id text, actor json, subject json, payload json,
  workspace_id text default null, idempotency_key text default null
) returns text
language sql as $$
  select r.id
    from posthorn.record_events(json_build_array(json_build_object(
           'type', type, 'organization_id', organization_id, 'workspace_id', workspace_id,
           'actor', actor, 'subject', subject, 'payload', payload,
           'idempotency_key', idempotency_key))) r;
$$;
