-- Brings what waits for a webhook into line with its status, `at_most` so many deliveries and parts of the backlog at a
-- time. Unverified: it is held. Active: what was held waits again. Disabled: it ends as failed. Deleted: it is cancelled,
-- and the backlog is gone. Leaves alone what another session is claiming. Returns how many it changed.
create or replace function posthorn.align_waiting(organization text, webhook text, at_most int) returns int
language plpgsql
-- Costs do not show the partitions that are skipped at run time: a large table would be read as a whole.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  -- Nobody's lease: see the table.
  nobody  constant int := 0;
  state   text;
  changed int := 0;
  n       int;
  ended   posthorn.backlog[];
begin
  select w.status into state from posthorn.webhooks w where w.organization_id = organization and w.id = webhook;

  if state = 'unverified' then
    with picked as materialized (
      select d.created_at, d.id
        from posthorn.deliveries d
       where d.organization_id = organization and d.webhook_id = webhook and d.status = 'pending' and d.leased_by is null
       limit at_most
         for update skip locked
    )
    update posthorn.deliveries d set leased_by = nobody
      from picked p
     where d.organization_id = organization and d.webhook_id = webhook
       and d.created_at = p.created_at and d.id = p.id;
    get diagnostics changed = row_count;
    update posthorn.backlog b set leased_by = nobody
     where b.ctid = any (array(
             select c.ctid from posthorn.backlog c
              where c.organization_id = organization and c.webhook_id = webhook and c.leased_by is null
              limit at_most
                for update skip locked));
    get diagnostics n = row_count;
    return changed + n;
  end if;

  with picked as materialized (
    select d.created_at, d.id
      from posthorn.deliveries d
     where d.organization_id = organization and d.webhook_id = webhook and d.status = 'pending' and d.leased_by = nobody
     limit at_most
       for update skip locked
  )
  update posthorn.deliveries d set leased_by = null
    from picked p
   where d.organization_id = organization and d.webhook_id = webhook
     and d.created_at = p.created_at and d.id = p.id;
  get diagnostics changed = row_count;
  update posthorn.backlog b set leased_by = null
   where b.ctid = any (array(
           select c.ctid from posthorn.backlog c
            where c.leased_by = nobody and c.organization_id = organization and c.webhook_id = webhook
            limit at_most
              for update skip locked));
  get diagnostics n = row_count;
  changed := changed + n;
  if state = 'active' then
    return changed;
  end if;

  with picked as materialized (
    select d.created_at, d.id
      from posthorn.deliveries d
     where d.organization_id = organization and d.webhook_id = webhook and d.status = 'pending' and d.leased_by is null
     limit at_most
       for update skip locked
  )
  update posthorn.deliveries d
     set status = case when state is null then 'cancelled' else 'failed' end,
         error = case when state is null then d.error else 'disabled' end,
         -- The outcome of the last attempt is kept apart from why the delivery ended.
         earlier_attempts = case when d.attempts = 0 or state is null then d.earlier_attempts
                                 else posthorn.earlier_attempts(d) end
    from picked p
   where d.organization_id = organization and d.webhook_id = webhook
     and d.created_at = p.created_at and d.id = p.id;
  get diagnostics n = row_count;
  changed := changed + n;

  -- One part of the backlog has up to a thousand deliveries or so.
  with gone as (
    delete from posthorn.backlog b
     where b.ctid = any (array(
             select c.ctid
               from (select w.ctid, sum(cardinality(w.ordinals)) over (order by w.created_at, w.head, w.first) as total,
                            cardinality(w.ordinals) as size
                       from (select b.ctid, b.ordinals, b.created_at, b.head, b.first
                               from posthorn.backlog b
                              where b.organization_id = organization and b.webhook_id = webhook and b.leased_by is null
                              order by b.created_at, b.head, b.first
                              limit at_most
                                for update skip locked) w) c
              where state is null or c.total - c.size < at_most))
    returning b
  )
  select array_agg(g.b) into ended from gone g;
  if state is not null and ended is not null then
    with contents as materialized (
      select e.created_at, posthorn.numbered('WDLV-', e.head, e.zero + o.ordinal) as id,
             posthorn.numbered('EVT-', e.head, e.event_zero + o.ordinal) as event_id
        from unnest(ended) e
       cross join unnest(e.ordinals) as o (ordinal)
    )
    insert into posthorn.deliveries
           (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at, due_at, status, error)
    select organization, webhook, e.created_at, c.id, e.id, e.type, e.created_at, e.created_at, 'failed', 'disabled'
      from contents c
     -- By its key, one by one: without statistics the planner would read all events of the organization.
     cross join lateral (
           select e.id, e.type, e.created_at
             from posthorn.events e
            where e.organization_id = organization and e.created_at = c.created_at and e.id = c.event_id
            limit 1) e
    on conflict do nothing;
  end if;
  return changed + coalesce(cardinality(ended), 0);
end
$$;
