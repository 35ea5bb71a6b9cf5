-- $1: the lifecycles, from lifecycles.json. Adds the moves that the database does not have yet. It removes none: during a
-- rolling upgrade, nodes of another version still need theirs. To remove or change a move, write a migration.
insert into posthorn.lifecycle_moves (kind, move, from_status, to_status)
select l ->> 'kind', m.*
  from json_each($1::json) as resources (name, l)
 cross join lateral (
       select 'create', null, l #>> '{creation,to}'
        union all
       select move.name, status.before, status.after
         from json_each(l -> 'moves') as move (name, details)
        cross join json_each_text(details -> 'transitions') as status (before, after)) m
on conflict do nothing
