-- Releases deliveries held for webhooks that are no longer unverified, if that failed when their status changed.
create or replace function posthorn.release_held(at_most int) returns bigint
language sql
set enable_seqscan = off
as $$
  select coalesce(sum(posthorn.align_waiting(held.organization_id, held.webhook_id, at_most)), 0)
    from (select d.organization_id, d.webhook_id from posthorn.deliveries d where d.status = 'pending' and d.leased_by = 0
           union
          select b.organization_id, b.webhook_id from posthorn.backlog b where b.leased_by = 0) held
   where not exists (select from posthorn.webhooks w
                      where w.organization_id = held.organization_id and w.id = held.webhook_id
                        and w.status = 'unverified')
$$;
