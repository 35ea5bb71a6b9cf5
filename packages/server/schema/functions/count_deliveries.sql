-- Writes what a process has counted of its attempts: one array for each column. A row that it wrote before is replaced, so
-- a write that is repeated because its response was lost counts nothing twice.
create or replace function posthorn.count_deliveries(
  organization_ids text[], scopes text[], steps smallint[], at_ms float8[], parts int[],
  delivered int[], failed_attempts int[], given_up int[], latencies text[]
)
returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  perform posthorn.ensure_partition('delivery_counts', d.day)
     from (select distinct (to_timestamp(ms / 1000) at time zone 'UTC')::date as day from unnest(at_ms) ms) d;
  insert into posthorn.delivery_counts
         (organization_id, scope, step, at, part, delivered, failed_attempts, given_up, latencies)
  select u.organization_id, u.scope, u.step, to_timestamp(u.at_ms / 1000), u.part, u.delivered, u.failed_attempts,
         u.given_up, u.latencies::int[]
    from unnest(organization_ids, scopes, steps, at_ms, parts, delivered, failed_attempts, given_up, latencies) as u (
           organization_id, scope, step, at_ms, part, delivered, failed_attempts, given_up, latencies)
  on conflict (organization_id, scope, step, at, part) do update
     set delivered = excluded.delivered, failed_attempts = excluded.failed_attempts,
         given_up = excluded.given_up, latencies = excluded.latencies;
end
$$;
