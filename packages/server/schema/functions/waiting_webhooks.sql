-- Returns the webhooks with deliveries that are due. `since` is the time of the oldest in the backlog, or the earliest
-- due time of those with a row; a webhook may be returned several times. If few deliveries are due, reads only those,
-- even if many webhooks have retries that are due later. Otherwise, skips from one webhook to the next in the index, so
-- the cost grows with the number of webhooks, not with their backlogs.
create or replace function posthorn.waiting_webhooks()
returns table (organization_id text, webhook_id text, since timestamptz)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off set enable_sort = off set enable_material = off
as $$
#variable_conflict use_column
declare
  now_at timestamptz := clock_timestamp();
  few    constant int := 1000;
begin
  if not exists (select from posthorn.deliveries d
                  where d.status = 'pending' and d.leased_by is null and d.due_at <= now_at
                  order by d.due_at
                 offset few) then
    return query
    select d.organization_id, d.webhook_id, d.due_at
      from posthorn.deliveries d
     where d.status = 'pending' and d.leased_by is null and d.due_at <= now_at
     order by d.due_at;
  else
    return query
    with recursive in_rows as (
      (select d.organization_id, d.webhook_id, d.due_at
         from posthorn.deliveries d
        where d.status = 'pending' and d.leased_by is null
        order by d.organization_id, d.webhook_id, d.due_at
        limit 1)
      union all
      select next.organization_id, next.webhook_id, next.due_at
        from in_rows w
       cross join lateral (
             select d.organization_id, d.webhook_id, d.due_at
               from posthorn.deliveries d
              where d.status = 'pending' and d.leased_by is null
                and (d.organization_id, d.webhook_id) > (w.organization_id, w.webhook_id)
              order by d.organization_id, d.webhook_id, d.due_at
              limit 1) next
    )
    select * from in_rows r where r.due_at <= now_at;
  end if;

  return query
  with recursive in_backlog as (
    (select b.organization_id, b.webhook_id, b.created_at
       from posthorn.backlog b
      where b.leased_by is null
      order by b.organization_id, b.webhook_id, b.created_at
      limit 1)
    union all
    select next.organization_id, next.webhook_id, next.created_at
      from in_backlog w
     cross join lateral (
           select b.organization_id, b.webhook_id, b.created_at
             from posthorn.backlog b
            where b.leased_by is null and (b.organization_id, b.webhook_id) > (w.organization_id, w.webhook_id)
            order by b.organization_id, b.webhook_id, b.created_at
            limit 1) next
  )
  select b.organization_id, b.webhook_id, b.created_at::timestamptz from in_backlog b;
end
$$;
