-- Counts deliveries that were given up without a further attempt, because their webhook was disabled. Each call adds
-- its own rows, so that no transaction waits for another one in the same organization.
create or replace function posthorn.count_ended(organization text, webhook text, ended int) returns void
language plpgsql
as $$
declare
  minute timestamptz := date_trunc('minute', clock_timestamp(), 'UTC');
  own    int := floor(random() * 2147483647);
begin
  if ended = 0 then
    return;
  end if;
  perform posthorn.ensure_partition('delivery_counts', (minute at time zone 'UTC')::date);
  insert into posthorn.delivery_counts
         (organization_id, scope, step, at, part, delivered, failed_attempts, given_up, latencies)
  select organization, s.scope, t.step, t.at, own, 0, 0, ended, '{}'
    from (select '' union all select webhook
           union all
          select w.workspace_id from posthorn.webhooks w
           where w.organization_id = organization and w.id = webhook and w.workspace_id is not null) as s (scope)
   cross join (values (1::smallint, minute), (60::smallint, date_trunc('hour', minute, 'UTC'))) as t (step, at);
end
$$;
