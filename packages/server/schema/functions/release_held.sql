-- Lets go of what is held for webhooks that are no longer unverified, if nobody did when their status changed.
create or replace function posthorn.release_held(at_most int) returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  held     record;
  released bigint := 0;
begin
  for held in
    with recursive in_rows as (
      (select d.organization_id, d.webhook_id
         from posthorn.deliveries d
        where d.status = 'pending' and d.leased_by = 0
        order by d.organization_id, d.webhook_id
        limit 1)
      union all
      select next.organization_id, next.webhook_id
        from in_rows w
       cross join lateral (
             select d.organization_id, d.webhook_id
               from posthorn.deliveries d
              where d.status = 'pending' and d.leased_by = 0
                and (d.organization_id, d.webhook_id) > (w.organization_id, w.webhook_id)
              order by d.organization_id, d.webhook_id
              limit 1) next
    )
    select * from in_rows
     union
    select b.organization_id, b.webhook_id from posthorn.backlog b where b.leased_by = 0
  loop
    if not exists (select from posthorn.webhooks w
                    where w.organization_id = held.organization_id and w.id = held.webhook_id
                      and w.status = 'unverified') then
      released := released + posthorn.align_waiting(held.organization_id, held.webhook_id, at_most);
    end if;
  end loop;
  return released;
end
$$;
