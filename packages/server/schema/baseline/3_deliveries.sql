-- Processes that attempt deliveries. A lease is valid while its node is alive. A node that does not extend its
-- `alive_until` in time is dead, and other nodes take its deliveries.
create table posthorn.nodes (
  id          int generated always as identity primary key,
  alive_until timestamptz not null
) with (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- A delivery is one event for one webhook. It gets its row when it is first settled; until then, it is part of a
-- hand-off or of the backlog. A redelivery, or a delivery from a replay, has a row from the start.
--   pending → success | failed | cancelled
-- pending, leased_by null:   waiting; any node may claim it at due_at
-- pending, leased_by a node: in that node's memory
-- pending, leased_by 0:      held until its webhook is verified, or because its organization is moving or has moved
create table posthorn.deliveries (
  organization_id  text collate "C" not null,
  webhook_id       text collate "C" not null,
  created_at       timestamptz(3) not null,
  id               text collate "C" not null,
  event_id         text collate "C" not null,
  event_type       text collate "C" not null,
  event_created_at timestamptz(3) not null,
  status           text not null default 'pending' check (status in ('pending', 'success', 'failed', 'cancelled')),
  attempts         smallint not null default 0 check (attempts between 0 and 20),
  due_at           timestamptz(3) not null,
  leased_by        int,
  -- The latest attempt.
  attempted_at     timestamptz(3),
  http_status      smallint,
  error            text,
  duration_ms      int,
  response         text,
  -- If it failed: the URL, some response headers and what TLS reported (see outcomes/outcome.ts).
  evidence         jsonb,
  -- The attempts before the latest, oldest first.
  earlier_attempts jsonb,
  -- The size of the event's payload, so that a claim can limit the total size that it returns.
  bytes            int,
  primary key (organization_id, webhook_id, created_at, id)
) partition by range (created_at);

create index deliveries_waiting on posthorn.deliveries (organization_id, webhook_id, due_at)
  where status = 'pending' and leased_by is null;
create index deliveries_due on posthorn.deliveries (due_at)
  where status = 'pending' and leased_by is null;
create index deliveries_leased on posthorn.deliveries (leased_by, organization_id, webhook_id)
  where status = 'pending' and leased_by is not null;
create index deliveries_failed on posthorn.deliveries (organization_id, webhook_id, created_at, id)
  where status = 'failed';
create index deliveries_retrying on posthorn.deliveries (organization_id, webhook_id, created_at, id)
  where status = 'pending' and attempts > 0;
-- An event's first delivery has the same time as the event and can be found by it. This index finds redeliveries.
create index deliveries_again on posthorn.deliveries (organization_id, event_id)
  where created_at <> event_created_at;

-- A hand-off: the deliveries of one recording that are in the memory of the node that recorded it. They share one row,
-- deleted when the last one is settled. The row belongs to a node, not to an organization.
--   event id:    'EVT-'  || head || (event_base + ordinal) in hexadecimal
--   delivery id: 'WDLV-' || head || (the share's base + ordinal) in hexadecimal
create table posthorn.handoffs (
  head             text collate "C" primary key,
  created_at       timestamptz(3) not null,
  leased_by        int not null,
  event_base       bigint not null,
  bytes            bigint not null,
  -- One element per webhook.
  organization_ids text[] collate "C" not null,
  webhook_ids      text[] collate "C" not null,
  bases            bigint[] not null,
  sizes            int[] not null,
  -- The events of the first webhook, then those of the second, and so on.
  ordinals         int[] not null
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

create index handoffs_leased on posthorn.handoffs (leased_by);

-- The backlog: unsettled deliveries not in a hand-off, one row per recording and webhook. `leased_by` as above.
create table posthorn.backlog (
  organization_id text collate "C" not null,
  webhook_id      text collate "C" not null,
  created_at      timestamptz(3) not null,
  head            text collate "C" not null,
  -- The first of the ordinals. It distinguishes the parts if a claim splits a row.
  first           int not null,
  leased_by       int,
  event_base      bigint not null,
  base            bigint not null,
  ordinals        int[] not null,
  bytes           bigint not null,
  primary key (organization_id, webhook_id, created_at, head, first)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

create index backlog_waiting on posthorn.backlog (organization_id, webhook_id, created_at, head, first)
  where leased_by is null;
create index backlog_leased on posthorn.backlog (leased_by, organization_id, webhook_id) where leased_by is not null;

-- Replays resend past events, as jobs that survive a restart. They take turns: the one that has waited longest is next.
create table posthorn.replays (
  organization_id text collate "C" not null,
  webhook_id      text collate "C" not null,
  id              text collate "C" not null,
  status          text not null default 'running' check (status in ('running', 'done', 'cancelled')),
  from_at         timestamptz(3) not null,
  to_at           timestamptz(3) not null,
  event_types     text[],
  only_failed     boolean not null,
  total           int not null,
  done            int not null default 0,
  -- The last event that was examined.
  position_at     timestamptz(3) not null,
  position_id     text collate "C" not null default '',
  created_at      timestamptz(3) not null,
  advanced_at     timestamptz not null default '-infinity',
  primary key (organization_id, webhook_id, id)
);

create index replays_running on posthorn.replays (advanced_at, created_at) where status = 'running';
