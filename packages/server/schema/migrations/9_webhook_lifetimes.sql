alter table posthorn.webhooks
  drop constraint webhooks_status_check,
  add constraint webhooks_status_check check (status in ('active', 'unverified', 'paused', 'disabled')),
  -- The waits before the second and later attempts, as durations. Null: those of the service.
  add column retry_schedule text[] check (cardinality(retry_schedule) between 1 and 19),
  -- When the webhook is deleted.
  add column expires_at timestamptz(3);

create index webhooks_to_expire on posthorn.webhooks (expires_at) where expires_at is not null;

-- A paused webhook gets deliveries, which are held.
drop index posthorn.webhooks_to_match;
create index webhooks_to_match on posthorn.webhooks (organization_id, coalesce(workspace_id, ''))
  where status in ('active', 'paused');

-- Releases held deliveries in the order in which they were recorded.
create index backlog_held on posthorn.backlog (organization_id, webhook_id, created_at, head, first)
  where leased_by = 0;
