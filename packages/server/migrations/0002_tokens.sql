-- Access tokens of the public API. Only the SHA-256 of a token is kept.

create table posthorn.tokens (
  organization_id text collate "C" not null,
  id              text collate "C" not null,
  workspace_id    text collate "C",
  hash            bytea not null,
  scopes          text[] not null,
  actor_type      text not null,
  actor_id        text not null,
  created_at      timestamptz(3) not null,
  expires_at      timestamptz(3) not null,
  revoked_at      timestamptz(3),
  last_used_at    timestamptz(3),
  primary key (organization_id, id)
);

create unique index tokens_by_hash on posthorn.tokens (hash);
create unique index tokens_by_id on posthorn.tokens (id);
