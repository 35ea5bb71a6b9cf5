-- Records what `settle` found: each incident of a webhook that began (`webhook.failing`) or ended (`webhook.recovered`).
-- It is not part of `settle`, whose settings would stay in the plans of posthorn.record.
create or replace function posthorn.record_incidents(incidents json) returns bigint
language sql
as $$
  select count(r.*)
    from (select array_agg(i.type order by i.n) as types, array_agg(w.organization_id order by i.n) as organization_ids,
                 array_agg(w.workspace_id order by i.n) as workspace_ids, array_agg(w.id order by i.n) as ids,
                 array_agg(case i.type when 'webhook.failing' then row_to_json(failing) else row_to_json(recovered) end
                             order by i.n) as payloads
            from json_array_elements(incidents) with ordinality as e (incident, n)
           cross join lateral (
                   select e.n, e.incident ->> 'type' as type, e.incident ->> 'organization_id' as organization_id,
                          e.incident ->> 'webhook_id' as webhook_id, (e.incident ->> 'failures')::int as failures,
                          to_char((e.incident ->> 'since')::timestamptz at time zone 'UTC',
                                  'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as since,
                          e.incident -> 'cause' as cause) i
            join posthorn.webhooks w on w.organization_id = i.organization_id and w.id = i.webhook_id
           cross join lateral (
                   select w.id as webhook_id, w.url, i.since, i.failures as failed_attempts, i.cause ->> 'error' as error,
                          (i.cause ->> 'http_status')::int as http_status, i.cause ->> 'error_detail' as error_detail,
                          i.cause ->> 'remedy' as remedy) failing
           cross join lateral (
                   select w.id as webhook_id, w.url, i.since as failing_since, i.failures as failed_attempts) recovered
          having count(*) > 0) b
   cross join lateral posthorn.record(
           b.types, b.organization_ids, b.workspace_ids, array_fill('system'::text, array[cardinality(b.ids)]),
           array_fill('posthorn'::text, array[cardinality(b.ids)]), array_fill('webhook'::text, array[cardinality(b.ids)]),
           b.ids, null, null, b.payloads, null, null, null, null, null) r
$$;
