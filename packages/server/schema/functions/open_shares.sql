-- Returns the deliveries of these webhooks that have no row yet: in a node's memory or waiting. `recording` and
-- `recorded_at` limit the result to the recording with this head and time. With null, reads all hand-offs: no more than
-- the nodes have in memory.
create or replace function posthorn.open_shares(
  organization text, webhooks text[], recording text, recorded_at timestamptz
)
returns table (webhook_id text, created_at timestamptz, head text, event_base bigint, base bigint, ordinal int)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off
as $$
#variable_conflict use_column
begin
  return query
  select s.webhook_id, s.created_at, s.head, s.event_base, s.base, o.ordinal
    from (select b.webhook_id, b.created_at, b.head, b.event_base, b.base, b.ordinals,
                 b.leased_by is null or b.leased_by = 0 as waits
            from posthorn.backlog b
           where b.organization_id = organization and b.webhook_id = any (webhooks)
             -- Ranges, so that one plan finds a single recording and all of them.
             and b.created_at between coalesce(recorded_at, '-infinity') and coalesce(recorded_at, 'infinity')
             and b.head between coalesce(recording, '') and coalesce(recording, '~')
           union all
          select s.webhook_id, h.created_at, h.head, h.event_base, s.base, s.ordinals, false
            from posthorn.handoffs h
           cross join posthorn.shares(h) s
           where h.head between coalesce(recording, '') and coalesce(recording, '~') and h.webhook_ids && webhooks
             and s.organization_id = organization and s.webhook_id = any (webhooks)) s
   cross join unnest(s.ordinals) as o (ordinal)
   -- A waiting delivery has not been attempted. One in a node's memory may already be settled, and then has a row.
   where s.waits
      or (select d.id from posthorn.deliveries d
           where d.organization_id = organization and d.webhook_id = s.webhook_id and d.created_at = s.created_at
             and d.id = posthorn.numbered('WDLV-', s.head, s.base + o.ordinal)) is null;
end
$$;
