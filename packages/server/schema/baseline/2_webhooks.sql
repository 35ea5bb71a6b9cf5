-- Webhooks. Deleting one removes its row; its deliveries stay until their retention ends.
create table posthorn.webhooks (
  organization_id       text collate "C" not null,
  id                    text collate "C" not null,
  workspace_id          text collate "C",
  url                   text not null,
  status                text not null check (status in ('active', 'unverified', 'disabled')),
  disabled_reason       text check (disabled_reason in ('gone', 'failing', 'manual')),
  event_types           text[] not null check (cardinality(event_types) between 1 and 100),
  created_at            timestamptz(3) not null,
  description           text check (length(description) <= 256),
  -- Maximum number of requests per second. Each node counts separately.
  rate_limit            int check (rate_limit between 1 and 1000),
  -- Custom headers to send with every request: the names, and an encrypted JSON object of names and values.
  header_names          text[] not null default '{}' check (cardinality(header_names) <= 10),
  headers               bytea,
  -- When the URL or the header names last changed. Earlier attempts may have sent different requests.
  destination_changed_at          timestamptz(3),
  -- Encrypted. The previous secret also signs until its grace period ends.
  secret                bytea not null,
  previous_secret       bytea,
  previous_secret_until timestamptz(3),
  -- Increases with every change, so that a node knows whether its cached copy is current.
  revision              int not null default 1,
  -- Why the webhook is not verified: {at, reason, http_status, duration_ms, response, evidence}.
  verification_failure  jsonb,
  -- How many automatic verifications there have been, and when the next one is due.
  verifications         int not null default 0,
  verify_at             timestamptz(3),
  -- The rate limit for test events: when the current minute began, and how many were sent in it.
  tests_since           timestamptz(3),
  tests                 int not null default 0,
  primary key (organization_id, id),
  check ((status = 'disabled') = (disabled_reason is not null)),
  check ((headers is null) = (header_names = '{}'))
);

-- Finds the webhooks of an event's workspace and the organization-wide ones.
create index webhooks_to_match on posthorn.webhooks (organization_id, coalesce(workspace_id, '')) where status = 'active';
create index webhooks_to_verify on posthorn.webhooks (verify_at) where status = 'unverified';

-- The recent results of each webhook's deliveries. Settlements constantly update these rows, so they are narrow, and
-- half of each page stays free for updates that touch no index.
create table posthorn.webhook_health (
  organization_id      text collate "C" not null,
  webhook_id           text collate "C" not null,
  last_delivery_at     timestamptz(3),
  last_delivery_status text check (last_delivery_status in ('success', 'failed')),
  -- The first and the last failure since the last success.
  failing_since        timestamptz(3),
  last_failure_at      timestamptz(3),
  primary key (organization_id, webhook_id),
  foreign key (organization_id, webhook_id) references posthorn.webhooks on delete cascade
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.2, autovacuum_vacuum_threshold = 1000);
