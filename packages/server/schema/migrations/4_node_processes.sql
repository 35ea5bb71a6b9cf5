-- The process that a node ID belongs to. If a process may have leases that it does not know about, it continues with a
-- new ID, and the old one keeps its leases until they end. Only the highest ID of a process counts as a node.
alter table posthorn.nodes add column process uuid not null default gen_random_uuid();
