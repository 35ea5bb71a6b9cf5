-- Refuses an organization that lives in another cell or is about to move there: see posthorn.relocations. Until the
-- attempts in flight have finished, the service can still record its own events. The error names the cell in `detail` and
-- the organization in `hint`.
create or replace function posthorn.require_here(organizations text[], event_type text) returns void
language plpgsql as $$
declare
  away posthorn.relocations;
begin
  select * into away from posthorn.relocations r
   where r.organization_id = any (organizations)
     and r.state <> 'here' and not (r.state = 'stopping' and event_type like 'webhook.%')
   limit 1;
  if found then
    raise exception 'posthorn: % is in the cell %, or is moving there or from there', away.organization_id, away.cell
      using errcode = case when away.state in ('moved', 'forgotten') then 'PH421' else 'PH503' end,
            detail = away.cell, hint = away.organization_id;
  end if;
end
$$;
