-- Lifecycles: the resources that events are about, each in one status at a time, and the moves between them.

-- The table of moves, as the program has it; what is missing here is added whenever migrations are applied.
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
  -- As in the subject of its events: service_line, invoice, …
  kind            text collate "C" not null,
  workspace_id    text collate "C",
  status          text collate "C" not null,
  -- Since when it has this status. A move that leads back to the same status leaves it.
  status_since    timestamptz(3) not null,
  attributes      jsonb not null,
  created_at      timestamptz(3) not null,
  updated_at      timestamptz(3) not null,
  primary key (organization_id, id)
);

-- The platform names a resource by its id alone.
create unique index resources_by_id on posthorn.resources (id);

create function posthorn.check_resource() returns trigger
language plpgsql as $$
declare
  left_status text := case when tg_op = 'UPDATE' then old.status end;
begin
  if tg_op = 'UPDATE'
     and (old.organization_id, old.id, old.kind) is distinct from (new.organization_id, new.id, new.kind) then
    raise exception 'posthorn: % keeps its organization, id and kind', old.id using errcode = 'check_violation';
  end if;
  if left_status = new.status then
    return new;
  end if;
  if not exists (
    select from posthorn.lifecycle_moves m
     where m.kind = new.kind and m.to_status = new.status
       and m.from_status is not distinct from left_status
  ) then
    raise exception 'posthorn: no move of % leads from % to %', new.kind, coalesce(left_status, 'nothing'), new.status
      using errcode = 'check_violation';
  end if;
  return new;
end
$$;

create trigger resources_move_by_the_table before insert or update on posthorn.resources
  for each row execute function posthorn.check_resource();

-- A new identifier: a ULID behind the prefix, as the events have.
create function posthorn.new_id(prefix text, at timestamptz) returns text
language plpgsql as $$
declare
  entropy text := replace(gen_random_uuid()::text, '-', '');
begin
  return prefix || '-'
    || posthorn.ulid_head(posthorn.epoch_ms(at), ('x' || left(entropy, 10))::bit(40)::bigint)
    || posthorn.base32(('x' || right(entropy, 10))::bit(40)::bigint);
end
$$;

-- With times as numbers, so that nobody's driver can read them otherwise.
create function posthorn.resource_json(resource posthorn.resources) returns json
language sql stable
return json_build_object(
  'organization_id', resource.organization_id,
  'id',              resource.id,
  'kind',            resource.kind,
  'workspace_id',    resource.workspace_id,
  'status',          resource.status,
  'status_since_ms', posthorn.epoch_ms(resource.status_since),
  'attributes',      resource.attributes,
  'created_ms',      posthorn.epoch_ms(resource.created_at),
  'updated_ms',      posthorn.epoch_ms(resource.updated_at));

-- Creates a resource in the status that its creation leads to.
create function posthorn.create_resource(
  resource_kind text, prefix text, organization_id text, workspace_id text, attributes jsonb
) returns json
language plpgsql as $$
declare
  created_at timestamptz := date_trunc('milliseconds', clock_timestamp());
  created    posthorn.resources;
begin
  created.organization_id := organization_id;
  created.id := posthorn.new_id(prefix, created_at);
  created.kind := resource_kind;
  created.workspace_id := workspace_id;
  created.status := (
    select m.to_status from posthorn.lifecycle_moves m where m.kind = resource_kind and m.from_status is null);
  created.status_since := created_at;
  created.attributes := attributes;
  created.created_at := created_at;
  created.updated_at := created_at;
  insert into posthorn.resources select created.*;
  return posthorn.resource_json(created);
end
$$;

-- Makes a move, sets what `changes` holds of the attributes and counts `counter` up by one. The row is held
-- until the caller's transaction ends, so of two that race the second finds what the first has left. Answers
-- the resource before and after; without the latter where its status does not allow the move, and null where
-- there is no such resource.
create function posthorn.move_resource(
  resource_kind text, resource_id text, made text, changes jsonb, counter text
) returns json
language plpgsql
-- A plan that was made while the table was small would read all of it ever after.
set enable_seqscan = off
as $$
declare
  before   posthorn.resources;
  after    posthorn.resources;
  moved_at timestamptz;
begin
  select * into before
    from posthorn.resources r
   where r.id = resource_id and r.kind = resource_kind
     for update;
  if not found then
    return null;
  end if;

  after := before;
  after.status := (
    select m.to_status
      from posthorn.lifecycle_moves m
     where m.kind = resource_kind and m.move = made and m.from_status = before.status);
  if after.status is null then
    return json_build_object('before', posthorn.resource_json(before));
  end if;

  -- Never before what happened last, whatever the clock says.
  moved_at := greatest(date_trunc('milliseconds', clock_timestamp()), before.updated_at);
  after.attributes := before.attributes || changes;
  if counter is not null then
    after.attributes := after.attributes
      || jsonb_build_object(counter, coalesce((before.attributes ->> counter)::bigint, 0) + 1);
  end if;
  after.updated_at := moved_at;
  if after.status <> before.status then
    after.status_since := moved_at;
  end if;
  update posthorn.resources r
     set status = after.status, status_since = after.status_since,
         attributes = after.attributes, updated_at = after.updated_at
   where r.organization_id = before.organization_id and r.id = before.id;
  return json_build_object('before', posthorn.resource_json(before), 'after', posthorn.resource_json(after));
end
$$;
