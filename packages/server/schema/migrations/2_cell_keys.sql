-- The start of everything that the nodes of this cell can decrypt: a version and the ID of a key. A move from another
-- cell is refused if it would bring secrets that these nodes cannot decrypt.
alter table posthorn.cell add column keys bytea[] not null default '{}';
