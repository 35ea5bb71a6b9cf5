-- Releases the leases of nodes that are dead or do not exist: a node can be declared dead just as it leases a delivery.
-- Deliveries with a row wait again. Unsettled ones without a row return to the backlog. Each call takes
-- at most `at_most` deliveries with a row. If it finds fewer, it takes about the remaining number from hand-offs, and
-- about the same number again from backlog rows. So it ends within its time limit, however many nodes died. Returns how
-- many deliveries it released.
create or replace function posthorn.release_leases(at_most int) returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off
as $$
declare
  dead     int[];
  released bigint;
  parts    posthorn.backlog[];
  n        bigint;
begin
  -- Skips a node that is settling right now. The next call handles it; waiting for it would delay all others.
  with overdue as (
    select o.id from posthorn.nodes o where o.alive_until < clock_timestamp() for update skip locked
  )
  delete from posthorn.nodes o using overdue where o.id = overdue.id;
  -- Reads only IDs above 0, because 0 means held. Skips from one ID to the next: reading every leased row would take
  -- too long for something that each node does every second.
  with recursive leases as (
    (select d.leased_by as id
       from posthorn.deliveries d
      where d.status = 'pending' and d.leased_by > 0
      order by d.leased_by
      limit 1)
     union all
    select (select d.leased_by
              from posthorn.deliveries d
             where d.status = 'pending' and d.leased_by > l.id
             order by d.leased_by
             limit 1)
      from leases l
     where l.id is not null
  )
  select array_agg(h.id) into dead
    from (select l.id from leases l where l.id is not null
           union select h.leased_by from posthorn.handoffs h
           union select b.leased_by from posthorn.backlog b where b.leased_by > 0) h
   where not exists (select from posthorn.nodes o where o.id = h.id);
  if dead is null then
    return 0;
  end if;

  with picked as materialized (
    select d.organization_id, d.webhook_id, d.created_at, d.id
      from posthorn.deliveries d
     where d.status = 'pending' and d.leased_by = any (dead)
     limit at_most
       for update skip locked
  )
  update posthorn.deliveries d
     set leased_by = null
    from picked p
   where d.organization_id = p.organization_id and d.webhook_id = p.webhook_id
     and d.created_at = p.created_at and d.id = p.id;
  get diagnostics released = row_count;

  with counted as materialized (
    select h.head, cardinality(h.ordinals) as size, sum(cardinality(h.ordinals)) over (order by h.created_at, h.head) as total
      from posthorn.handoffs h
     where h.leased_by = any (dead)
  ), taken as (
    delete from posthorn.handoffs h
     using counted c
     where h.head = c.head and c.total - c.size < at_most - released
    returning h
  )
  select array_agg((s.organization_id, s.webhook_id, (t.h).created_at, (t.h).head, s.ordinals[1], null,
                    (t.h).event_base, s.base, s.ordinals,
                    (t.h).bytes * cardinality(s.ordinals) / cardinality((t.h).ordinals))::posthorn.backlog)
    into parts
    from taken t
   cross join posthorn.shares(t.h) s;

  with counted as materialized (
    select b.ctid as place, cardinality(b.ordinals) as size,
           sum(cardinality(b.ordinals)) over (order by b.created_at, b.head, b.first) as total
      from posthorn.backlog b
     where b.leased_by = any (dead)
  ), taken as (
    delete from posthorn.backlog b
     where b.ctid = any (array(select c.place from counted c where c.total - c.size < at_most - released))
    returning b
  )
  select parts || array_agg(t.b) into parts from taken t;

  with open as materialized (
    select p.organization_id, p.webhook_id, p.created_at, p.head, p.event_base, p.base, p.bytes, p.first,
           cardinality(p.ordinals) as size, still.ordinals
      from unnest(parts) p
     cross join lateral (
           select array_agg(o.ordinal order by o.ordinal) as ordinals
             from unnest(p.ordinals) as o (ordinal)
            where (select d.id from posthorn.deliveries d
                    where d.organization_id = p.organization_id and d.webhook_id = p.webhook_id
                      and d.created_at = p.created_at
                      and d.id = posthorn.numbered('WDLV-', p.head, p.base + o.ordinal)) is null) still
     where still.ordinals is not null
  ), waiting as (
    insert into posthorn.backlog
           (organization_id, webhook_id, created_at, head, first, event_base, base, ordinals, bytes)
    select o.organization_id, o.webhook_id, o.created_at, o.head, o.first, o.event_base, o.base, o.ordinals,
           o.bytes * cardinality(o.ordinals) / o.size
      from open o
  )
  select sum(cardinality(o.ordinals)) into n from open o;
  return released + coalesce(n, 0);
end
$$;
