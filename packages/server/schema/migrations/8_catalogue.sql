-- The catalogue of event types.

-- One row: whether the built-in types are in the catalogue, and its state.
create table posthorn.catalogue (
  id       uuid primary key default gen_random_uuid(),
  builtin  boolean not null default true,
  -- Increases with every change, so that nodes know whether their copy is current.
  revision int not null default 1
);
insert into posthorn.catalogue default values;

-- A type that is removed keeps its row, so that no version is used twice.
create table posthorn.event_types (
  type        text collate "C" not null primary key,
  -- Increases when the schema changes.
  version     int not null,
  in_use      boolean not null,
  -- Whether the platform has defined or redefined it. Other types are built in.
  own         boolean not null,
  -- The order in lists.
  position    int not null,
  description text not null,
  schema      json not null,
  sample      json not null
);

-- Nodes that have a file with the catalogue. While one of them is alive, nothing else can change the catalogue.
create table posthorn.catalogue_files (
  node        uuid primary key,
  alive_until timestamptz not null
);

-- Roles that record with SQL must be able to read the catalogue.
do $$
declare
  recorder record;
begin
  for recorder in
    select distinct case when a.grantee = 0 then 'public' else a.grantee::regrole::text end as name
      from pg_class c
     cross join aclexplode(c.relacl) a
     where c.oid = 'posthorn.webhooks'::regclass and a.privilege_type = 'SELECT' and a.grantee <> c.relowner
  loop
    execute format('grant select on posthorn.catalogue, posthorn.event_types to %s', recorder.name);
  end loop;
end
$$;
