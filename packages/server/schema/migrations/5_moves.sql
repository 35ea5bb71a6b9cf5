-- A cell has an identity beside its name: two databases can have the same name, and a restored one keeps its identity.
alter table posthorn.cell add column id uuid not null default gen_random_uuid();

-- An organization is copied in one transaction, so nothing has to be staged. The old copy is kept until
-- `posthorn organization forget` deletes it.
drop table posthorn.arrivals;

-- Organizations that are moving between cells, or have lived in another one. An organization without a row lives here,
-- and so does one in the state 'here'. In any other state, this cell starts no work for the organization.
--   in the cell that it leaves:   here → stopping → stopped → moved → forgotten
--   in the cell that it moves to: arriving → here
-- here:      lives in this cell, to which it moved from another one
-- stopping:  refuses writes and starts no attempts; attempts in flight are allowed to finish
-- stopped:   refuses all writes, so that everything can be copied
-- moved:     lives in the other cell; the old copy is kept
-- forgotten: lives in the other cell; at most its tokens and resources are left here
-- arriving:  has been copied completely; the other cell has to mark it as moved before it can live here
alter table posthorn.relocations
  drop constraint relocations_state_check,
  drop column move,
  drop column progress,
  -- The identity of the other cell.
  add column cell_id uuid,
  -- Identifies one stop of the organization, in both cells. A copy belongs to the stop in which it was made.
  add column move uuid not null default gen_random_uuid(),
  add column since timestamptz not null default clock_timestamp();
-- Fails if a move is under way: complete or abort it with the version that began it.
update posthorn.relocations set state = 'forgotten' where state = 'moved';
alter table posthorn.relocations add constraint relocations_state_check
  check (state in ('here', 'stopping', 'stopped', 'moved', 'forgotten', 'arriving'));
