-- Returns the active and paused webhooks that receive the events of a scope: the fields that decide who gets an event.
-- `about` is the subject of a `webhook.*` event. PostgreSQL inlines it.
create or replace function posthorn.matching_webhooks(organization text, workspace text, type text, about text)
returns table (id text, revision int, is_paused boolean, has_filter boolean)
language sql stable
as $$
  select w.id, w.revision, w.status = 'paused', w.filter_path is not null
    from unnest(array['', workspace]) as wide (workspace_id)
   cross join lateral (
           select w.id, w.revision, w.status, w.filter_path
             from posthorn.webhooks w
            where w.organization_id = organization
              and coalesce(w.workspace_id, '') = wide.workspace_id
              and w.status in ('active', 'paused')
              and w.event_types && array[type, split_part(type, '.', 1) || '.*', '*']
              -- A webhook does not receive events about itself.
              and w.id is distinct from about
           -- Forces an index lookup, even in a plan that was made when there were no webhooks.
           offset 0) w
$$;
