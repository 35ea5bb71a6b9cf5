-- Webhooks: where events are sent. Deleting one removes its row; its deliveries stay until retention.

create table posthorn.webhooks (
  organization_id       text collate "C" not null,
  id                    text collate "C" not null,
  workspace_id          text collate "C",
  url                   text not null,
  status                text not null check (status in ('active', 'unverified', 'disabled')),
  disabled_reason       text check (disabled_reason in ('gone', 'failing', 'manual')),
  event_types           text[] not null check (cardinality(event_types) between 1 and 100),
  created_at            timestamptz(3) not null,
  -- Encrypted; the one before the current keeps signing beside it until its time is up.
  secret                bytea not null,
  previous_secret       bytea,
  previous_secret_until timestamptz(3),
  -- Counts up with every change, so that nodes see at a glance whether what they remember still holds.
  revision              int not null default 1,
  last_delivery_at      timestamptz(3),
  last_delivery_status  text check (last_delivery_status in ('success', 'failed')),
  -- The first and last of the failures since the last success.
  failing_since         timestamptz(3),
  last_failure_at       timestamptz(3),
  -- Automatic re-verification: how many were made, and when the next is due.
  verifications         int not null default 0,
  verify_at             timestamptz(3),
  -- Test events in the current minute.
  tests_since           timestamptz(3),
  tests                 int not null default 0,
  primary key (organization_id, id),
  check ((status = 'disabled') = (disabled_reason is not null))
);

create index webhooks_to_verify on posthorn.webhooks (verify_at) where status = 'unverified';

-- Processes that attempt deliveries. A lease on a delivery is good as long as its node is alive; a node
-- that has not said so in time is dead, and its deliveries go to the others.
create table posthorn.nodes (
  id          int generated always as identity primary key,
  alive_until timestamptz not null
);

-- One delivery is one event for one webhook, with up to five attempts.
--   pending → success | failed | cancelled
-- pending, leased_by null:     waiting, to be claimed by any node at due_at
-- pending, leased_by not null: in the memory of that node
create table posthorn.deliveries (
  organization_id  text collate "C" not null,
  webhook_id       text collate "C" not null,
  created_at       timestamptz(3) not null,
  id               text collate "C" not null,
  event_id         text collate "C" not null,
  event_type       text collate "C" not null,
  event_created_at timestamptz(3) not null,
  status           text not null default 'pending' check (status in ('pending', 'success', 'failed', 'cancelled')),
  attempts         smallint not null default 0 check (attempts between 0 and 5),
  due_at           timestamptz(3) not null,
  leased_by        int,
  -- Of the latest attempt.
  attempted_at     timestamptz(3),
  http_status      smallint,
  error            text,
  duration_ms      int,
  response         text,
  -- The attempts before the latest, oldest first.
  earlier_attempts jsonb,
  primary key (organization_id, webhook_id, created_at, id)
) partition by range (created_at);

create index deliveries_waiting on posthorn.deliveries (organization_id, webhook_id, due_at)
  where status = 'pending' and leased_by is null;
create index deliveries_leased on posthorn.deliveries (leased_by)
  where status = 'pending' and leased_by is not null;
create index deliveries_failed on posthorn.deliveries (organization_id, webhook_id, created_at, id)
  where status = 'failed';
-- The first delivery of an event is created with it and found by that time; this finds the further ones.
create index deliveries_again on posthorn.deliveries (organization_id, event_id)
  where created_at <> event_created_at;
