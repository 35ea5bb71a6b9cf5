-- Recording: events and their deliveries are committed together, or not at all.

-- Records a batch of events with one delivery for each matching active webhook: the only place where
-- matching lives. Deliveries are born leased to `node`, except those of webhooks in `saturated`; without
-- a node none is leased. Answers a row for each event, or for each of its leased deliveries with what it
-- takes to attempt it. An event with `undelivered` true goes to nobody.
create function posthorn.record_batch(events json, node int, saturated text[])
returns table (
  ordinal bigint, id text, created_at timestamptz,
  delivery_id text, webhook_id text, organization_id text, workspace_id text, type text, payload json
)
language plpgsql
-- Its plan is made once and kept: planning it anew costs as much as recording ten events. Made on an empty
-- table it would be a sequential scan, and stay one.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  recorded_at timestamptz := posthorn.announce_recording();
  entropy     text := replace(gen_random_uuid()::text, '-', '');
  ulid_head   text := posthorn.ulid_head(
                        posthorn.epoch_ms(recorded_at), ('x' || left(entropy, 10))::bit(40)::bigint);
  -- The top bit stays free for the ordinal to be added without overflowing.
  tail        bigint := ('x' || right(entropy, 10))::bit(40)::bigint & ((1::bigint << 39) - 1);
  today       date := (recorded_at at time zone 'UTC')::date;
begin
  perform posthorn.ensure_partition('events', today);
  perform posthorn.ensure_partition('deliveries', today);

  -- A look at the text spares most batches a second reading. JSON may also spell the name with escapes.
  if position('"idempotency_key"' in events::text) > 0 or position('\u00' in events::text) > 0 then
    -- In the order of the keys, so that two batches with the same keys cannot wait for each other.
    insert into posthorn.event_keys as k (organization_id, key, event_id, created_at)
    select distinct on (e.organization_id, e.idempotency_key)
           e.organization_id, e.idempotency_key,
           'EVT-' || ulid_head || posthorn.base32(tail + e.ordinal), recorded_at
      from rows from (json_to_recordset(events) as (organization_id text, idempotency_key text))
           with ordinality as e (organization_id, idempotency_key, ordinal)
     where e.idempotency_key is not null
     order by e.organization_id, e.idempotency_key, e.ordinal
    on conflict (organization_id, key) do update
       set event_id = excluded.event_id, created_at = excluded.created_at
     where k.created_at <= recorded_at - interval '24 hours';
  end if;

  return query
  with batch as materialized (
    select e.*,
           coalesce(k.event_id, 'EVT-' || ulid_head || posthorn.base32(tail + e.ordinal)) as id,
           coalesce(k.created_at, recorded_at) as created_at,
           k.event_id is null
             or k.event_id = 'EVT-' || ulid_head || posthorn.base32(tail + e.ordinal) as fresh
      from rows from (json_to_recordset(events) as (
             type text, organization_id text, workspace_id text, actor json, subject json, payload json,
             idempotency_key text, undelivered boolean
           )) with ordinality as e (
             type, organization_id, workspace_id, actor, subject, payload,
             idempotency_key, undelivered, ordinal
           )
      left join posthorn.event_keys k
        on k.organization_id = e.organization_id and k.key = e.idempotency_key
  ), recorded as (
    insert into posthorn.events
           (organization_id, created_at, id, type, workspace_id,
            actor_type, actor_id, subject_type, subject_id, payload)
    select b.organization_id, b.created_at, b.id, b.type, b.workspace_id,
           b.actor ->> 'type', b.actor ->> 'id', b.subject ->> 'type', b.subject ->> 'id', b.payload
      from batch b
     where b.fresh
     order by b.ordinal
  ), matched as materialized (
    select b.ordinal, w.id as webhook_id,
           'WDLV-' || ulid_head || posthorn.base32(tail + row_number() over (order by b.ordinal, w.id)) as delivery_id,
           case when w.id = any (saturated) then null else node end as leased_by
      from batch b
      join posthorn.webhooks w
        on w.organization_id = b.organization_id
       and w.status = 'active'
       and (w.workspace_id is null or w.workspace_id = b.workspace_id)
       and w.event_types && array[b.type, split_part(b.type, '.', 1) || '.*', '*']
       -- A webhook is not told about itself.
       and not (b.type like 'webhook.%' and b.subject ->> 'id' = w.id)
     where b.fresh and b.undelivered is not true
  ), queued as (
    insert into posthorn.deliveries
           (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at,
            due_at, leased_by)
    select b.organization_id, m.webhook_id, recorded_at, m.delivery_id, b.id, b.type, b.created_at,
           recorded_at, m.leased_by
      from matched m
      join batch b on b.ordinal = m.ordinal
  )
  select b.ordinal, b.id, b.created_at, m.delivery_id, m.webhook_id, b.organization_id, b.workspace_id,
         b.type, case when m.delivery_id is not null then b.payload end
    from batch b
    left join matched m on m.ordinal = b.ordinal and m.leased_by is not null
   -- Rows nobody holds are announced at commit; a node that cannot listen finds them by its poll.
   cross join (
      select count(pg_notify('posthorn_deliveries', ''))
        from (select from matched u where u.leased_by is null limit 1) unleased
   ) announced
   order by b.ordinal;
end
$$;

-- Records a batch inside the caller's transaction: a JSON array of {type, organization_id, workspace_id?,
-- actor, subject, payload, idempotency_key?}. Answers one row for each element, in order. An element whose
-- key was already used in its organization within 24 h, here or earlier in the batch, records nothing and
-- answers the first event. The events of one batch share their time, and their ids ascend in its order.
create function posthorn.record_events(events json)
returns table (ordinal bigint, id text, created_at timestamptz)
language plpgsql as $$
#variable_conflict use_column
declare
  fault record;
begin
  select e.ordinal - 1 as index,
         case
           when e.type is null or e.type !~ '^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*){1,2}$'
             then format('type %L is not of the form domain.action', e.type)
           when e.type like 'webhook.%' then 'webhook.* events are recorded by the service itself'
           when e.organization_id is null or e.organization_id !~ '^ORG-[!-~]{1,120}$'
             then format('organization_id %L is not ORG-…', e.organization_id)
           when e.workspace_id !~ '^WS-[!-~]{1,120}$' then format('workspace_id %L is not WS-…', e.workspace_id)
           when coalesce(e.actor ->> 'type', '') !~ '^[a-z][a-z0-9_]{0,63}$' or coalesce(e.actor ->> 'id', '') !~ '^[!-~]{1,128}$'
             then 'actor is not {"type": …, "id": …}'
           when coalesce(e.subject ->> 'type', '') !~ '^[a-z][a-z0-9_]{0,63}$' or coalesce(e.subject ->> 'id', '') !~ '^[!-~]{1,128}$'
             then 'subject is not {"type": …, "id": …}'
           when coalesce(json_typeof(e.payload), '') <> 'object' then 'payload is not a JSON object'
         end as reason
    into fault
    from rows from (json_to_recordset(events) as (
           type text, organization_id text, workspace_id text, actor json, subject json, payload json
         )) with ordinality as e (type, organization_id, workspace_id, actor, subject, payload, ordinal)
   order by 2 nulls last
   limit 1;
  if fault.reason is not null then
    raise exception 'posthorn: event %: %', fault.index, fault.reason using errcode = 'invalid_parameter_value';
  end if;
  return query
  select b.ordinal, b.id, b.created_at
    from posthorn.record_batch(events, null, '{}') b
   order by b.ordinal;
end
$$;

-- Records one event inside the caller's transaction and answers its id.
create function posthorn.record_event(
  type            text,
  organization_id text,
  actor           json,
  subject         json,
  payload         json,
  workspace_id    text default null,
  idempotency_key text default null
) returns text
language sql as $$
  select r.id
    from posthorn.record_events(json_build_array(json_build_object(
           'type', type, 'organization_id', organization_id, 'workspace_id', workspace_id,
           'actor', actor, 'subject', subject, 'payload', payload,
           'idempotency_key', idempotency_key))) r;
$$;
