-- The resources that events are about. Each has one status at a time, and moves change it.

-- The possible moves. rows/lifecycle_moves.sql adds them.
create table posthorn.lifecycle_moves (
  kind        text collate "C" not null,
  move        text collate "C" not null,
  -- Null for a creation.
  from_status text collate "C",
  to_status   text collate "C" not null,
  unique nulls not distinct (kind, move, from_status)
);

create table posthorn.resources (
  organization_id text collate "C" not null,
  id              text collate "C" not null,
  -- The type of the subject in its events: service_line, invoice, …
  kind            text collate "C" not null,
  workspace_id    text collate "C",
  status          text collate "C" not null,
  -- When the resource entered this status. A move that keeps the status does not change this time.
  status_since    timestamptz(3) not null,
  attributes      jsonb not null,
  created_at      timestamptz(3) not null,
  updated_at      timestamptz(3) not null,
  primary key (organization_id, id)
);

-- The platform identifies a resource by its id alone.
create unique index resources_by_id on posthorn.resources (id);
