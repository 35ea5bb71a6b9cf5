-- The audit log: one entry for every change by an actor, in the same transaction, kept for 12 months. The entries of an
-- organization form a chain: each contains a hash of itself and the previous entry, which reveals changed or missing
-- entries. Each partition holds one month: with weekly partitions, a page would need too many locks.
create table posthorn.audit_log (
  organization_id text collate "C" not null,
  created_at      timestamptz(3) not null,
  id              text collate "C" not null,
  -- The position in the organization's chain: 1, 2, 3, … without gaps. (created_at, id) sort in the same order.
  position        bigint not null,
  workspace_id    text collate "C",
  actor_type      text collate "C" not null,
  actor_id        text collate "C" not null,
  action          text collate "C" not null,
  target_type     text collate "C" not null,
  target_id       text collate "C" not null,
  request_id      text,
  source_address  text,
  changes         json not null,
  hash            bytea not null,
  primary key (organization_id, created_at, id)
) partition by range (created_at);

create index audit_log_by_workspace on posthorn.audit_log (organization_id, workspace_id, created_at, id);
create index audit_log_by_actor     on posthorn.audit_log (organization_id, actor_id, created_at, id);
create index audit_log_by_action    on posthorn.audit_log (organization_id, action, created_at, id);
create index audit_log_by_target    on posthorn.audit_log (organization_id, target_id, created_at, id);
-- Shows whether a month has entries after a given time.
create index audit_log_by_time      on posthorn.audit_log using brin (created_at);

-- The end of each organization's chain, and how many of its first entries retention has dropped.
create table posthorn.audit_chains (
  organization_id text collate "C" primary key,
  length          bigint not null,
  hash            bytea not null,
  last_at         timestamptz(3) not null,
  dropped         bigint not null default 0,
  dropped_hash    bytea not null default ''
);

do $$ begin
  execute format('revoke update, delete, truncate on posthorn.audit_log from %I', current_user);
end $$;
