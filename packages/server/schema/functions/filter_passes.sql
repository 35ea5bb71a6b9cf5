-- Returns which events of a batch pass the filters of which webhooks: an object with a key `<webhook> <ordinal>` for each
-- pair. Examines each event once, and only if it is of a type that a webhook with a filter subscribes to. Takes the same
-- arrays as posthorn.record, and is stable, so that it sees the same webhooks. Returns one value, not rows: preparing to
-- read rows would cost each recording without filters about 50 us.
create or replace function posthorn.filter_passes(
  types text[], organization_ids text[], workspace_ids text[], actor_types text[], actor_ids text[],
  subject_types text[], subject_ids text[], payloads json[]
)
returns jsonb
language plpgsql stable
set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off
as $$
begin
  return (
    with examined as materialized (
      select e.ordinal::int as ordinal, e.organization_id, t.names,
             posthorn.filterable(e.workspace_id, e.subject_type, e.subject_id, e.actor_type, e.actor_id,
                                 e.payload) as content
        from unnest(types, organization_ids, workspace_ids, actor_types, actor_ids, subject_types, subject_ids,
                    payloads) with ordinality as e (
               type, organization_id, workspace_id, actor_type, actor_id, subject_type, subject_id, payload, ordinal)
       cross join lateral (select array[e.type, split_part(e.type, '.', 1) || '.*', '*'] as names) t
       where exists (select from posthorn.webhooks w
                      where w.organization_id = e.organization_id and w.filter_path is not null
                        and w.event_types && t.names)
    )
    select coalesce(jsonb_object_agg(w.id || ' ' || x.ordinal, null), '{}')
      from examined x
      join posthorn.webhooks w
        on w.organization_id = x.organization_id and w.filter_path is not null
       and w.event_types && x.names and x.content @? w.filter_path);
end
$$;
