-- Returns the log of a delivery's earlier attempts with the latest one appended. Called before the latest one is
-- overwritten.
create or replace function posthorn.earlier_attempts(delivery posthorn.deliveries) returns jsonb
language sql stable
as $$
  select coalesce(delivery.earlier_attempts, '[]') || jsonb_build_object(
    'attempt', delivery.attempts, 'attempted_at', delivery.attempted_at, 'http_status', delivery.http_status,
    'error', delivery.error, 'duration_ms', delivery.duration_ms, 'response', delivery.response, 'evidence', delivery.evidence)
$$;
