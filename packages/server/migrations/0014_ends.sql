-- Ends what waits for a webhook that takes nothing any more, `at_most` so many rows: failed where it is disabled,
-- cancelled where it is deleted. Those of any other webhook are left alone, and so is what somebody is just claiming.
-- Answers how many it ended.
create function posthorn.end_waiting(organization text, webhook text, at_most int) returns int
language plpgsql
-- Costs do not know of the partitions that are passed over at run time: of a large table all would be read instead.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  ended int;
begin
  with standing as materialized (
    select max(w.status) as status
      from posthorn.webhooks w
     where w.organization_id = organization and w.id = webhook
  ), waiting as materialized (
    select d.organization_id, d.webhook_id, d.created_at, d.id
      from posthorn.deliveries d
     where d.organization_id = organization and d.webhook_id = webhook and d.status = 'pending' and d.leased_by is null
       and coalesce((select s.status from standing s), 'disabled') = 'disabled'
     limit at_most
       for update skip locked
  )
  update posthorn.deliveries d
     set status = case when s.status is null then 'cancelled' else 'failed' end,
         error = case when s.status is null then d.error else 'disabled' end,
         -- What the last attempt came to is kept apart from why the delivery ended.
         earlier_attempts = case
           when d.attempts = 0 or s.status is null then d.earlier_attempts
           else coalesce(d.earlier_attempts, '[]') || jsonb_build_object(
             'attempt', d.attempts, 'attempted_at', d.attempted_at, 'http_status', d.http_status,
             'error', d.error, 'duration_ms', d.duration_ms, 'response', d.response)
         end
    from waiting w cross join standing s
   where d.organization_id = w.organization_id and d.webhook_id = w.webhook_id
     and d.created_at = w.created_at and d.id = w.id;
  get diagnostics ended = row_count;
  return ended;
end
$$;
