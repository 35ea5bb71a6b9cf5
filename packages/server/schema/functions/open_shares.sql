-- Returns the deliveries of one webhook that have no row yet: in a node's memory or waiting. `recording` limits the
-- result to the recording with this head. With null, reads all hand-offs: no more than the nodes have in memory.
create or replace function posthorn.open_shares(organization text, webhook text, recording text)
returns table (created_at timestamptz, head text, event_base bigint, base bigint, ordinal int)
language plpgsql stable
set jit = off set enable_seqscan = off
as $$
#variable_conflict use_column
begin
  return query
  select s.created_at, s.head, s.event_base, s.base, o.ordinal
    from (select b.created_at, b.head, b.event_base, b.base, b.ordinals, b.leased_by is null or b.leased_by = 0 as waits
            from posthorn.backlog b
           where b.organization_id = organization and b.webhook_id = webhook
             and (recording is null or b.head = recording)
           union all
          select h.created_at, h.head, h.event_base, s.base, s.ordinals, false
            from posthorn.handoffs h
           cross join posthorn.shares(h) s
           where h.head = coalesce(recording, h.head) and h.webhook_ids @> array[webhook]
             and s.organization_id = organization and s.webhook_id = webhook) s
   cross join unnest(s.ordinals) as o (ordinal)
   -- A waiting delivery has not been attempted. One in a node's memory may already be settled, and then has a row.
   where s.waits
      or (select d.id from posthorn.deliveries d
           where d.organization_id = organization and d.webhook_id = webhook and d.created_at = s.created_at
             and d.id = posthorn.numbered('WDLV-', s.head, s.base + o.ordinal)) is null;
end
$$;
