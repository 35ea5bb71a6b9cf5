-- Leases waiting deliveries to a node, which says how much room it has: `rooms` for webhooks by their ID, `room_each`
-- for any other, `room_total` for all webhooks, and `bytes_max` for all payloads (a single payload may be larger).
-- Organizations take turns in random order; within each, the webhooks that have waited longest go first. Retries get at
-- most `retry_share` of a webhook's room, so that they and new deliveries do not block each other.
--
-- Returns the leased deliveries: with `head` and `first` if they are from the backlog, otherwise with the `due_at` of
-- their row. `scheduled` says which attempt of the schedule follows, or is null if it is an extra one. The last row has the webhooks that still have `more` waiting, except those without room, and the
-- milliseconds until the next retry is due.
create or replace function posthorn.claim(
  node int, rooms jsonb, room_each int, room_total int, webhooks_max int, bytes_max bigint,
  retry_share float8
)
returns table (
  organization_id text, webhook_id text, created_at timestamptz, delivery_id text, attempts smallint,
  event_id text, type text, event_created_at timestamptz, workspace_id text,
  actor_type text, actor_id text, subject_type text, subject_id text, payload json,
  due_at timestamptz, head text, first int, scheduled int, more text[], next_ms float8
)
language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
declare
  now_at        timestamptz := clock_timestamp();
  -- Each webhook gets room for at least one delivery.
  turns_max     int := least(webhooks_max, room_total);
  organizations text[];
  webhooks      text[];
  shares        int[];
  further       text[] := '{}';
  idle          jsonb;
  leased_rows   posthorn.deliveries[];
  leased_parts  posthorn.backlog[];
begin
  -- Usually nothing is waiting. In that case, the cost must not depend on the number of webhooks.
  if exists (select from posthorn.deliveries d
              where d.status = 'pending' and d.leased_by is null and d.due_at <= now_at)
     or exists (select from posthorn.backlog b where b.leased_by is null) then
    -- Without hash and merge joins, a join of two sets compares every pair of rows. So rooms are looked up by key, and
    -- the rows below carry the columns that a join would add.
    with waiting as materialized (
      select w.organization_id, w.webhook_id, min(w.since) as since from posthorn.waiting_webhooks() w group by 1, 2
    ), found as materialized (
      select w.organization_id, w.webhook_id, w.since,
             coalesce((rooms ->> w.webhook_id)::int, room_each) as room,
             (select h.status from posthorn.webhooks h
               where h.organization_id = w.organization_id and h.id = w.webhook_id
                 -- The deliveries of an organization that is stopped or lives in another cell are held.
                 and not exists (select from posthorn.relocations r
                                  where r.organization_id = h.organization_id and r.state <> 'here')) as status
        from waiting w
    ), turns as materialized (
      select f.*, row_number() over (partition by f.organization_id order by f.since, random()) as turn
        from found f
       where f.status = 'active' and f.room > 0
    ), ordered as materialized (
      -- Ties are broken at random, not by time, so that an organization with many webhooks has no advantage.
      select t.*, row_number() over (order by t.turn, random()) as n, count(*) over () as webhooks from turns t
    )
    select array_agg(o.organization_id order by o.n) filter (where o.n <= turns_max),
           array_agg(o.webhook_id order by o.n) filter (where o.n <= turns_max),
           array_agg(least(o.room, room_total / least(o.webhooks, turns_max))::int order by o.n)
             filter (where o.n <= turns_max),
           coalesce(array_agg(o.webhook_id) filter (where o.n > turns_max), '{}'),
           (select jsonb_object_agg(f.webhook_id, f.organization_id)
              from (select * from found i where i.status is distinct from 'active' limit 10) f)
      into organizations, webhooks, shares, further, idle
      from ordered o;
  end if;

  -- Holds or ends the deliveries of webhooks that are not active, so that later claims do not see them. Skips webhooks
  -- that are being changed, because waiting for them would delay all others.
  perform posthorn.align_waiting(i.value, i.key, 500)
     from jsonb_each_text(idle) i
    where not exists (select from posthorn.webhooks w where w.organization_id = i.value and w.id = i.key)
       or exists (select from posthorn.webhooks w
                   where w.organization_id = i.value and w.id = i.key
                     for share skip locked);

  if webhooks is not null then
    with turns as materialized (
      select * from unnest(organizations, webhooks, shares) with ordinality as t (organization_id, webhook_id, room, n)
    ), due as materialized (
      select t.n, d.*, row_number() over (partition by t.n order by d.due_at, d.id) as place
        from turns t
       cross join lateral (
             select d.organization_id, d.webhook_id, d.created_at, d.id, d.due_at, coalesce(d.bytes, 1000) as bytes,
                    d.attempts = 0 and d.created_at = d.event_created_at as is_first
               from posthorn.deliveries d
              where d.organization_id = t.organization_id and d.webhook_id = t.webhook_id
                and d.status = 'pending' and d.leased_by is null and d.due_at <= now_at
              order by d.due_at
              limit greatest(1, floor(t.room * retry_share)::int)
                for update skip locked) d
    ), due_counts as materialized (
      select d.n, count(*) as due, max(d.created_at) filter (where d.is_first) as first_until from due d group by d.n
    ), rest as materialized (
      -- Deliveries that were given back before their first attempt have a row. If not all of them fit, those in the
      -- backlog that are newer have to wait for them.
      select t.organization_id, t.webhook_id, t.n, t.room - coalesce(c.due, 0) as room,
             case when c.due >= greatest(1, t.room / 2) then c.first_until end as first_until
        from turns t
        left join due_counts c on c.n = t.n
    ), candidates as materialized (
      -- Reads only what is needed to choose, and locks only what is chosen.
      select t.n, b.ctid_of, b.size, b.bytes, t.room,
             sum(b.size) over (partition by t.n order by b.created_at, b.head, b.first) - b.size as before
        from rest t
       cross join lateral (
             select b.ctid as ctid_of, cardinality(b.ordinals) as size, b.bytes, b.created_at, b.head, b.first
               from posthorn.backlog b
              where b.organization_id = t.organization_id and b.webhook_id = t.webhook_id and b.leased_by is null
                and b.created_at <= coalesce(t.first_until, 'infinity')
              order by b.created_at, b.head, b.first
              limit t.room) b
    ), parts as materialized (
      select c.*, greatest(1, least(c.size, c.room - c.before, bytes_max * c.size / greatest(1, c.bytes)))::int as part
        from candidates c
       where c.before < c.room
    ), counted as materialized (
      -- The first of each webhook, then the second of each, and so on, up to `bytes_max`.
      select i.*, sum(i.bytes) over (order by i.place, i.n rows between unbounded preceding and 1 preceding) as before
        from (select d.n, d.place, d.bytes, d.organization_id, d.webhook_id, d.created_at, d.id,
                     null::tid as ctid_of, null::int as part
                from due d
               union all
              select p.n, p.before + 1, p.bytes * p.part / p.size, null, null, null, null, p.ctid_of, p.part
                from parts p) i
    ), chosen as materialized (
      select c.organization_id, c.webhook_id, c.created_at, c.id, c.ctid_of, c.part
        from counted c
       where coalesce(c.before, 0) < bytes_max
    ), leased as (
      update posthorn.deliveries d
         set leased_by = node
        from chosen p
       where d.organization_id = p.organization_id and d.webhook_id = p.webhook_id
         and d.created_at = p.created_at and d.id = p.id
      returning d as delivery
    ), locked as materialized (
      -- Within one statement, the ctid of a row stays valid unless another node has just taken the row.
      select b.*, c.part
        from chosen c
       cross join lateral (
             select b.ctid as ctid_of, b.*
               from posthorn.backlog b
              where b.ctid = c.ctid_of and b.leased_by is null
                for update skip locked) b
    ), split as (
      insert into posthorn.backlog
             (organization_id, webhook_id, created_at, head, first, event_base, base, ordinals, bytes)
      select l.organization_id, l.webhook_id, l.created_at, l.head, l.ordinals[l.part + 1], l.event_base, l.base,
             l.ordinals[l.part + 1:], l.bytes - l.bytes * l.part / cardinality(l.ordinals)
        from locked l
       where l.part < cardinality(l.ordinals)
    ), taken as (
      update posthorn.backlog b
         set leased_by = node, ordinals = b.ordinals[:l.part], bytes = b.bytes * l.part / cardinality(b.ordinals)
        from locked l
       where b.ctid = l.ctid_of
      returning b as part
    )
    select (select array_agg(l.delivery order by (l.delivery).due_at) from leased l),
           (select array_agg(t.part order by (t.part).created_at, (t.part).head, (t.part).first) from taken t)
      into leased_rows, leased_parts;

    return query
    with contents as materialized (
      select p.organization_id, p.webhook_id, p.created_at, p.head, p.first,
             posthorn.numbered('WDLV-', p.head, p.base + o.ordinal) as id,
             posthorn.numbered('EVT-', p.head, p.event_base + o.ordinal) as event_id
        from unnest(leased_parts) p
       cross join unnest(p.ordinals) as o (ordinal)
    )
    select d.organization_id, d.webhook_id, d.created_at::timestamptz, d.id, d.attempts, d.event_id, d.event_type,
           d.event_created_at::timestamptz, e.workspace_id, e.actor_type, e.actor_id, e.subject_type, e.subject_id,
           e.payload, d.due_at::timestamptz, null, null::int,
           case when d.resume_at is null then d.attempts - d.extra_attempts + 1 end, null::text[], null::float8
      from unnest(leased_rows) d
      left join posthorn.events e
        on e.organization_id = d.organization_id and e.created_at = d.event_created_at and e.id = d.event_id
     union all
    select c.organization_id, c.webhook_id, c.created_at::timestamptz, c.id, 0::smallint, c.event_id, e.type,
           c.created_at::timestamptz, e.workspace_id, e.actor_type, e.actor_id, e.subject_type, e.subject_id,
           e.payload, null::timestamptz, c.head, c.first, 1, null, null
      from contents c
      left join posthorn.events e
        on e.organization_id = c.organization_id and e.created_at = c.created_at and e.id = c.event_id;

    select coalesce(array_agg(t.webhook_id), '{}') || further into further
      from unnest(organizations, webhooks) as t (organization_id, webhook_id)
     where exists (select from posthorn.backlog b
                    where b.organization_id = t.organization_id and b.webhook_id = t.webhook_id and b.leased_by is null)
        or exists (select from posthorn.deliveries d
                    where d.organization_id = t.organization_id and d.webhook_id = t.webhook_id
                      and d.status = 'pending' and d.leased_by is null and d.due_at <= now_at);
  end if;

  return query
  select null, null, null::timestamptz, null, null::smallint, null, null, null::timestamptz, null, null, null, null,
         null, null::json, null::timestamptz, null, null::int, null::int, further,
         (select (extract(epoch from d.due_at - clock_timestamp()) * 1000)::float8
            from posthorn.deliveries d
           where d.status = 'pending' and d.leased_by is null and d.due_at > now_at
           order by d.due_at
           limit 1);
end
$$;
