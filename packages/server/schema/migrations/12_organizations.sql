-- Organizations that the platform has given a name, or had one.
create table posthorn.organizations (
  organization_id text collate "C" not null primary key,
  name            text,
  created_at      timestamptz(3) not null default clock_timestamp()
);
