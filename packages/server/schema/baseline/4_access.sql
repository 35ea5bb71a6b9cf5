-- Access tokens of the public API. Only the SHA-256 of a token is stored.
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
  -- A portal session: a token for a link to the console. Maintenance deletes it after it expires.
  portal          boolean not null default false,
  primary key (organization_id, id)
);

create unique index tokens_by_hash on posthorn.tokens (hash);
create unique index tokens_by_id on posthorn.tokens (id);
create index tokens_of_portal on posthorn.tokens (expires_at) where portal;

-- Responses to public POST requests with an Idempotency-Key, for 24 hours.
create table posthorn.request_keys (
  organization_id text collate "C" not null,
  token_id        text collate "C" not null,
  route           text not null,
  key             text not null,
  fingerprint     bytea not null,
  created_at      timestamptz(3) not null,
  -- Null while the first request is still running.
  status          smallint,
  body            text,
  location        text,
  primary key (organization_id, token_id, route, key)
);

create index request_keys_by_age on posthorn.request_keys (created_at);
