-- Records a batch inside the caller's transaction: a JSON array of {type, organization_id, workspace_id?, actor,
-- subject, payload, idempotency_key?}. Rejects other fields: with a misspelled workspace_id, for example, an event would
-- belong to the organization as a whole. Also rejects types outside the catalogue, but does not check payloads. Returns
-- one row per element, in order. An element whose key was used in its organization within the last 24 hours, or earlier
-- in the batch, records nothing and returns the first event. The events of a batch share their time, and their IDs ascend
-- in the order of the batch.
create or replace function posthorn.record_events(events json)
returns table (ordinal bigint, id text, created_at timestamptz)
language plpgsql
-- A role that may call this can record events, but needs no privileges on any table.
security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  batch record;
begin
  select array_agg(e.type order by e.ordinal) as types,
         array_agg(e.organization_id order by e.ordinal) as organization_ids,
         array_agg(e.workspace_id order by e.ordinal) as workspace_ids,
         array_agg(e.actor ->> 'type' order by e.ordinal) as actor_types,
         array_agg(e.actor ->> 'id' order by e.ordinal) as actor_ids,
         array_agg(e.subject ->> 'type' order by e.ordinal) as subject_types,
         array_agg(e.subject ->> 'id' order by e.ordinal) as subject_ids,
         array_agg(e.idempotency_key order by e.ordinal) as keys,
         array_agg(e.payload order by e.ordinal) as payloads,
         array_agg(f.fault order by e.ordinal) as faults,
         min(e.ordinal) filter (where f.fault is not null) as faulty
    into batch
    from (select ordinal, json_typeof(element) = 'object' as is_object,
                 case when json_typeof(element) = 'object' then element else '{}' end as object
            from json_array_elements(events) with ordinality as a (element, ordinal)) a
   cross join lateral (
         select a.ordinal, *
           from json_to_record(a.object) as r (
                type text, organization_id text, workspace_id text, actor json, subject json, payload json,
                idempotency_key text)) e
   cross join lateral (
         select string_agg(quote_ident(k), ', ') as unknown
           from json_object_keys(a.object) k
          where k not in ('type', 'organization_id', 'workspace_id', 'actor', 'subject', 'payload', 'idempotency_key')) u
   cross join lateral (
         select case
           when not a.is_object then 'is not a JSON object'
           when u.unknown is not null then 'has unknown fields: ' || u.unknown
           when e.type is null or e.type !~ '^[a-z][a-z0-9_]*([.][a-z][a-z0-9_]*){1,2}$'
             then format('type %L is not of the form domain.action', e.type)
           when e.type like 'webhook.%' then 'webhook.* events are recorded by the service itself'
           when not exists (select from posthorn.event_types t where t.type = e.type and t.in_use)
             then format('type %L is not in the catalogue', e.type)
           when e.organization_id is null or e.organization_id !~ '^ORG-[!-~]{1,120}$'
             then format('organization_id %L is not ORG-…', e.organization_id)
           when e.workspace_id !~ '^WS-[!-~]{1,120}$' then format('workspace_id %L is not WS-…', e.workspace_id)
           when coalesce(e.actor ->> 'type', '') !~ '^[a-z][a-z0-9_]{0,63}$'
             or coalesce(e.actor ->> 'id', '') !~ '^[!-~]{1,128}$'
             then 'actor is not {"type": …, "id": …}'
           when coalesce(e.subject ->> 'type', '') !~ '^[a-z][a-z0-9_]{0,63}$'
             or coalesce(e.subject ->> 'id', '') !~ '^[!-~]{1,128}$'
             then 'subject is not {"type": …, "id": …}'
           when coalesce(json_typeof(e.payload), '') <> 'object' then 'payload is not a JSON object'
         end) as f (fault);
  if batch.faults[batch.faulty] like '% is not in the catalogue' then
    raise exception 'posthorn: event %: %', batch.faulty - 1, batch.faults[batch.faulty]
      using errcode = 'invalid_parameter_value',
            hint = format('The closest type in the catalogue is %s.', posthorn.nearest_type(batch.types[batch.faulty]));
  elsif batch.faulty is not null then
    raise exception 'posthorn: event %: %', batch.faulty - 1, batch.faults[batch.faulty]
      using errcode = 'invalid_parameter_value';
  end if;
  return query
  with recorded as materialized (
    select r.ordinal, r.id, r.created_at, r.base
      from posthorn.record(
             batch.types, batch.organization_ids, batch.workspace_ids, batch.actor_types, batch.actor_ids,
             batch.subject_types, batch.subject_ids, batch.keys, null, batch.payloads, null, null, null, null, null) r
     where batch.types is not null
  )
  select e.ordinal, coalesce(k.id, posthorn.numbered('EVT-', h.id, h.base + e.ordinal)),
         coalesce(k.created_at, h.created_at)
    from unnest(batch.types) with ordinality as e (type, ordinal)
   cross join (select r.id, r.created_at, r.base from recorded r where r.ordinal = 0) h
    left join recorded k on k.ordinal = e.ordinal
   order by e.ordinal;
end
$$;

revoke execute on function posthorn.record_events(json) from public;
