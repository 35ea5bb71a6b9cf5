-- Returns the deliveries of each webhook in a hand-off.
create or replace function posthorn.shares(handoff posthorn.handoffs)
returns table (organization_id text, webhook_id text, base bigint, ordinals int[])
language sql immutable
as $$
  select s.organization_id, s.webhook_id, s.base, handoff.ordinals[s.last - s.size + 1 : s.last]
    from (select u.*, sum(u.size) over (order by u.n)::int as last
            from unnest(handoff.organization_ids, handoff.webhook_ids, handoff.bases, handoff.sizes)
                 with ordinality as u (organization_id, webhook_id, base, size, n)) s
$$;
