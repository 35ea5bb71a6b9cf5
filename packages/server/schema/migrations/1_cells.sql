-- A cell is one database with its nodes. An organization lives in exactly one cell at a time.

-- The name of this cell, in at most one row. A node with POSTHORN_CELL writes it when it starts.
create table posthorn.cell (
  name text collate "C" not null check (name ~ '^[a-z0-9]{1,16}$')
);

-- Organizations that are moving between cells, or have moved to another one. An organization without a row lives here.
-- In any state but 'copying', this cell starts no work for the organization.
--   in the cell that it leaves:   copying → stopping → stopped → left → moved
--   in the cell that it moves to: arriving → no row
-- copying:  works as usual
-- stopping: refuses writes and starts no attempts; attempts in flight are allowed to finish
-- stopped:  refuses all writes, so that the rest can be copied; its waiting deliveries have leased_by -1
-- left:     refuses everything until the other cell has taken it over; the move can be aborted only if that cell has
--           lost its copy
-- moved:    lives in the other cell
-- arriving: lives in the other cell; its rows here are not complete
create table posthorn.relocations (
  organization_id text collate "C" not null primary key,
  state           text not null check (state in ('copying', 'stopping', 'stopped', 'left', 'moved', 'arriving')),
  -- The name of the other cell.
  cell            text collate "C" not null,
  -- Identifies the process that carries out the move, in both cells. Taking over changes it, so the other one stops.
  move            text collate "C" not null,
  -- When the state became 'stopping'. Ascending reads end at this time: later events are read in the other cell.
  stopped_at      timestamptz,
  -- How far the copying has progressed: see moving/round-store.ts.
  progress        jsonb not null default '{}'
);

-- Rows of an arriving organization that would take effect immediately, such as webhooks and tokens. They are stored as
-- text until one transaction inserts all of them.
create table posthorn.arrivals (
  organization_id text collate "C" not null,
  relation        text collate "C" not null,
  ordinal         bigint generated always as identity,
  content         text not null,
  primary key (organization_id, relation, ordinal)
);
