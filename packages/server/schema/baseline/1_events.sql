-- Events are immutable. Each partition holds one week (UTC), so that retention can drop whole tables.
create table posthorn.events (
  organization_id text collate "C" not null,
  created_at      timestamptz(3) not null,
  id              text collate "C" not null,
  type            text collate "C" not null,
  workspace_id    text collate "C",
  actor_type      text collate "C" not null,
  actor_id        text collate "C" not null,
  subject_type    text collate "C" not null,
  subject_id      text collate "C" not null,
  -- json, not jsonb, which would reorder keys and change how numbers are written.
  payload         json not null,
  -- The size of the payload, so that a claim can limit what it returns without reading payloads.
  bytes           int not null,
  primary key (organization_id, created_at, id)
) partition by range (created_at);

-- One index per filter, in the order of a page, so that a page is always one ordered index scan.
create index events_by_workspace    on posthorn.events (organization_id, workspace_id, created_at, id);
create index events_by_type         on posthorn.events (organization_id, type, created_at, id);
create index events_by_subject_type on posthorn.events (organization_id, subject_type, created_at, id);
create index events_by_subject      on posthorn.events (organization_id, subject_id, created_at, id);
create index events_by_actor        on posthorn.events (organization_id, actor_id, created_at, id);
-- Finds the latest events of all organizations, to count them. It has one entry per megabyte of events.
create index events_by_time         on posthorn.events using brin (created_at) with (autosummarize = on);

-- Producers' idempotency keys of the last 24 hours, and their events.
create table posthorn.event_keys (
  organization_id text collate "C" not null,
  key             text collate "C" not null,
  event_id        text collate "C" not null,
  created_at      timestamptz(3) not null,
  primary key (organization_id, key),
  constraint idempotency_key_has_1_to_255_characters check (length(key) between 1 and 255)
);

create index event_keys_by_age on posthorn.event_keys (created_at);

-- The time in milliseconds of the last notification about waiting deliveries. It is a sequence because all sessions see
-- a new value immediately, not only after a commit (see announce_waiting).
create sequence posthorn.last_announcement;
