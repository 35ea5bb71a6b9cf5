-- Counts the events that were recorded since the last call, `most` of them by time, up to the horizon: whatever is recorded
-- later has a later time, so every event is counted exactly once. Does nothing if another node is at it. Returns whether
-- there is more to count.
create or replace function posthorn.count_events(most interval) returns boolean
language plpgsql
-- Only the index by time finds the latest events of all organizations without reading older ones.
set enable_seqscan = off
set enable_indexscan = off
set enable_indexonlyscan = off
as $$
declare
  since timestamptz := (select p.counted_until from posthorn.event_count_progress p for update skip locked);
  until timestamptz;
begin
  if since is null then
    return false;
  end if;
  until := least(posthorn.event_horizon(null), since + most);
  if until <= since then
    return false;
  end if;
  perform posthorn.ensure_partition('event_counts', (t at time zone 'UTC')::date) from unnest(array[since, until]) t;

  insert into posthorn.event_counts as c (organization_id, scope, step, at, type, events)
  select e.organization_id, s.scope, t.step, t.at, e.type, sum(e.events)
    from (select r.organization_id, r.workspace_id, r.type, date_trunc('minute', r.created_at, 'UTC') as minute,
                 count(*) as events
            from posthorn.events r
           where r.created_at >= since and r.created_at < until
           group by 1, 2, 3, 4) e
   cross join lateral (select '' union all select e.workspace_id where e.workspace_id is not null) as s (scope)
   cross join lateral (values (1::smallint, e.minute), (60::smallint, date_trunc('hour', e.minute, 'UTC')),
                              (1440::smallint, date_trunc('day', e.minute, 'UTC'))) as t (step, at)
   group by 1, 2, 3, 4, 5
  on conflict (organization_id, scope, step, at, type) do update set events = c.events + excluded.events;

  update posthorn.event_count_progress set counted_until = until;
  return until = since + most;
end
$$;
