-- Returns an entry's hash, which covers the entry and the previous entry's hash.
create or replace function posthorn.audit_hash(previous bytea, entry posthorn.audit_log) returns bytea
language sql stable
as $$
  select sha256(previous || convert_to(json_build_array(
    entry.organization_id, entry.position, entry.id, posthorn.epoch_ms(entry.created_at), entry.workspace_id,
    entry.actor_type, entry.actor_id, entry.action, entry.target_type, entry.target_id,
    entry.request_id, entry.source_address, entry.changes::text)::text, 'UTF8'))
$$;
