-- $1: the built-in types, from catalogue.json. Brings them up to date, except those that the platform has redefined. If
-- the platform does not use the built-in types, only webhook.* are in the catalogue.
with revised as (
  update posthorn.catalogue set revision = revision + 1
)
insert into posthorn.event_types as e (type, version, in_use, own, position, description, schema, sample)
select t ->> 'type', 1, true, false, ordinality, t ->> 'description', t -> 'schema', t -> 'sample'
  from json_array_elements($1::json) with ordinality as w (t, ordinality)
 where t ->> 'type' like 'webhook.%' or (select builtin from posthorn.catalogue)
on conflict (type) do update
   set version = e.version + (not e.in_use or e.schema::jsonb <> excluded.schema::jsonb)::int, in_use = true,
       own = false, position = excluded.position, description = excluded.description, schema = excluded.schema,
       sample = excluded.sample
 where not (e.own and e.in_use)
