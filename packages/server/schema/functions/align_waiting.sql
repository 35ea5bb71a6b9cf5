-- Brings the waiting deliveries of a webhook in line with its status, about `at_most` at a time. Unverified or paused, or
-- while the organization is stopped or lives in another cell: holds them. Active: lets nodes claim held ones again, the
-- oldest of the backlog first. Disabled: ends them as failed. Deleted: cancels them and deletes the backlog. Skips rows
-- that a claim is taking: waiting for them could deadlock with the node's settlement. But it waits for held rows, which
-- no claim takes. Returns how many deliveries and backlog rows it changed.
create or replace function posthorn.align_waiting(organization text, webhook text, at_most int) returns int
language plpgsql
-- The planner's cost estimates ignore run-time partition pruning, so it would scan large tables completely.
set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  -- `leased_by` of held deliveries: see posthorn.deliveries.
  nobody  constant int := 0;
  -- The lock keeps the status from changing before the commit. A change in between would miss the deliveries that this
  -- call holds, and this call would end deliveries that are recorded after the change.
  state   text := (select w.status from posthorn.webhooks w
                    where w.organization_id = organization and w.id = webhook
                      for share);
  holds   boolean := coalesce(state in ('unverified', 'paused'), false)
                     or exists (select from posthorn.relocations r
                                 where r.organization_id = organization and r.state <> 'here');
  changed int;
  n       int;
  ended   posthorn.backlog[];
begin
  -- `picked` has the whole key. If the organization and the webhook came from the parameters, the planner could look up
  -- each delivery by these two alone. It would then read all deliveries of the webhook for each one that the statement
  -- changes.
  with picked as materialized (
    select w.*
      from (select d.organization_id, d.webhook_id, d.created_at, d.id from posthorn.deliveries d
             where d.organization_id = organization and d.webhook_id = webhook
               and d.status = 'pending' and d.leased_by is null and holds
             limit at_most
               for update skip locked) w
     union all
    select h.*
      from (select d.organization_id, d.webhook_id, d.created_at, d.id from posthorn.deliveries d
             where d.organization_id = organization and d.webhook_id = webhook
               and d.status = 'pending' and d.leased_by = nobody and not holds
             limit at_most
               for update) h
  )
  update posthorn.deliveries d
     set leased_by = case when holds then nobody end
    from picked p
   where d.organization_id = p.organization_id and d.webhook_id = p.webhook_id
     and d.created_at = p.created_at and d.id = p.id;
  get diagnostics changed = row_count;
  update posthorn.backlog b
     set leased_by = case when holds then nobody end
   where b.ctid = any (array(
           select w.place
             from (select c.ctid as place from posthorn.backlog c
                    where c.organization_id = organization and c.webhook_id = webhook and c.leased_by is null and holds
                    limit at_most
                      for update skip locked) w
            union all
           select h.place
             from (select c.ctid as place from posthorn.backlog c
                    where c.organization_id = organization and c.webhook_id = webhook and c.leased_by = 0
                      and not holds
                    order by c.created_at, c.head, c.first
                    limit at_most
                      for update) h));
  get diagnostics n = row_count;
  changed := changed + n;
  if holds or state = 'active' then
    return changed;
  end if;

  with picked as materialized (
    select d.organization_id, d.webhook_id, d.created_at, d.id
      from posthorn.deliveries d
     where d.organization_id = organization and d.webhook_id = webhook and d.status = 'pending' and d.leased_by is null
     limit at_most
       for update skip locked
  )
  update posthorn.deliveries d
     set status = case when state is null then 'cancelled' else 'failed' end,
         error = case when state is null then d.error else 'disabled' end,
         -- Keeps the outcome of the last attempt, because `error` now says why the delivery ended.
         earlier_attempts = case when d.attempts = 0 or state is null then d.earlier_attempts
                                 else posthorn.earlier_attempts(d) end
    from picked p
   where d.organization_id = p.organization_id and d.webhook_id = p.webhook_id
     and d.created_at = p.created_at and d.id = p.id;
  get diagnostics n = row_count;
  changed := changed + n;
  if state is not null then
    perform posthorn.count_ended(organization, webhook, n);
  end if;

  with waiting as materialized (
    select b.ctid as ctid_of, cardinality(b.ordinals) as size, b.created_at, b.head, b.first
      from posthorn.backlog b
     where b.organization_id = organization and b.webhook_id = webhook and b.leased_by is null
     order by b.created_at, b.head, b.first
     limit at_most
       for update skip locked
  ), counted as materialized (
    select w.ctid_of, sum(w.size) over (order by w.created_at, w.head, w.first) - w.size as before from waiting w
  ), gone as (
    delete from posthorn.backlog b
     where b.ctid = any (array(select c.ctid_of from counted c where state is null or c.before < at_most))
    returning b as part
  )
  select array_agg(g.part) into ended from gone g;
  if state is not null then
    insert into posthorn.deliveries
           (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at, due_at, status, error)
    select organization, webhook, e.created_at, posthorn.numbered('WDLV-', p.head, p.base + o.ordinal),
           e.id, e.type, e.created_at, e.created_at, 'failed', 'disabled'
      from unnest(ended) p
     cross join unnest(p.ordinals) as o (ordinal)
     -- Looks up each event by its key. Without statistics, the planner would read all events of the organization.
     cross join lateral (
           select e.id, e.type, e.created_at
             from posthorn.events e
            where e.organization_id = organization and e.created_at = p.created_at
              and e.id = posthorn.numbered('EVT-', p.head, p.event_base + o.ordinal)
            limit 1) e
    on conflict do nothing;
    get diagnostics n = row_count;
    perform posthorn.count_ended(organization, webhook, n);
  end if;
  return changed + coalesce(cardinality(ended), 0);
end
$$;
