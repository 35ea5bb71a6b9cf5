-- Appends entries to the audit log, in the caller's transaction. `entries` is a JSON array of {organization_id,
-- workspace_id?, actor, action, target, request_id?, source_address?, changes}. Locks each organization's chain until
-- the transaction ends, so call this last. Entries become visible in the order of their chain.
create or replace function posthorn.write_audit(entries json) returns void
language plpgsql
-- As in record_events: the caller needs no privileges on any table.
security definer set search_path = pg_catalog, pg_temp
-- Plans are cached, and a plan made for a few chains would keep scanning all of them.
set jit = off set enable_seqscan = off
-- A long transaction on the same chain must not block this connection for long.
set lock_timeout = '2s'
as $$
declare
  today date := (clock_timestamp() at time zone 'UTC')::date;
  given record;
  chain posthorn.audit_chains;
  entry posthorn.audit_log;
begin
  -- Before locking a chain, because a session that creates a partition may already be waiting for a chain.
  perform posthorn.ensure_partition('audit_log', today);

  -- Locks all chains before the first entry, in the order of the organizations, as retention does, to avoid deadlocks.
  for given in
    select distinct e.organization_id collate "C" as organization_id
      from json_to_recordset(entries) as e (organization_id text)
     order by 1
  loop
    perform posthorn.require_here(array[given.organization_id], '');
    perform from posthorn.audit_chains where organization_id = given.organization_id for update;
    continue when found;
    insert into posthorn.audit_chains (organization_id, length, hash, last_at)
    values (given.organization_id, 0, '', '-infinity')
    on conflict do nothing;
    perform from posthorn.audit_chains where organization_id = given.organization_id for update;
  end loop;

  for given in
    select *
      from json_to_recordset(entries) as (
             organization_id text, workspace_id text, actor json, action text, target json,
             request_id text, source_address text, changes json)
  loop
    select * into strict chain from posthorn.audit_chains where organization_id = given.organization_id;
    entry.organization_id := given.organization_id;
    entry.created_at := greatest(date_trunc('milliseconds', clock_timestamp()), chain.last_at);
    entry.position := chain.length + 1;
    -- The position in the chain follows the time, so that entries of the same millisecond keep their order.
    entry.id := 'AUD-' || left(posthorn.ulid_head(posthorn.epoch_ms(entry.created_at), 0), 10)
      || posthorn.base32(entry.position)
      || posthorn.base32(('x' || left(replace(gen_random_uuid()::text, '-', ''), 10))::bit(40)::bigint);
    entry.workspace_id := given.workspace_id;
    entry.actor_type := given.actor ->> 'type';
    entry.actor_id := given.actor ->> 'id';
    entry.action := given.action;
    entry.target_type := given.target ->> 'type';
    entry.target_id := given.target ->> 'id';
    entry.request_id := given.request_id;
    entry.source_address := given.source_address;
    entry.changes := coalesce(given.changes, '{}');
    entry.hash := posthorn.audit_hash(chain.hash, entry);

    -- The day may have ended while this waited, or the clock may have been set back since the last entry.
    if (entry.created_at at time zone 'UTC')::date <> today then
      perform posthorn.ensure_partition('audit_log', (entry.created_at at time zone 'UTC')::date);
    end if;
    insert into posthorn.audit_log select entry.*;
    update posthorn.audit_chains
       set length = entry.position, hash = entry.hash, last_at = entry.created_at
     where organization_id = entry.organization_id;
  end loop;
end
$$;

revoke execute on function posthorn.write_audit(json) from public;
