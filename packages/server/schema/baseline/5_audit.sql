-- The audit log: one entry for every write by an actor, in the same transaction, kept 12 months. The entries of an
-- organization form a chain: each carries a hash of itself and of the one before it, so that a changed or missing entry
-- shows. Partitions hold one month each: a page would need too many locks over 52 weeks.
create table posthorn.audit_log (
  organization_id text collate "C" not null,
  created_at      timestamptz(3) not null,
  id              text collate "C" not null,
  -- The place in the organization's chain: 1, 2, 3, … without gaps. (created_at, id) sort the same way.
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
-- Shows whether a month holds anything after a given time.
create index audit_log_by_time      on posthorn.audit_log using brin (created_at);

-- Where each organization's chain ends, and how much of its beginning retention has dropped.
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
