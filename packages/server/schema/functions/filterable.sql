-- Returns what the filters of webhooks look at, or null if it cannot be examined: jsonb cannot hold numbers with more
-- than 131,072 digits. Such an event passes no filter, but it can be recorded.
create or replace function posthorn.filterable(
  workspace_id text, subject_type text, subject_id text, actor_type text, actor_id text, payload json
)
returns jsonb
language plpgsql immutable parallel safe
as $$
begin
  return jsonb_build_object(
    'workspace_id', workspace_id, 'subject_type', subject_type, 'subject_id', subject_id,
    'actor_type', actor_type, 'actor_id', actor_id, 'payload', payload);
exception when data_exception then
  return null;
end
$$;
