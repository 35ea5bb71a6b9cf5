-- What is kept of the latest attempt if it failed, beside its status, error and response (see domain/evidence.ts).
alter table posthorn.deliveries add column evidence jsonb;

-- Lists what is between attempts. A delivery that succeeds at once, as most do, is never in it.
create index deliveries_retrying on posthorn.deliveries (organization_id, webhook_id, created_at, id)
  where status = 'pending' and attempts > 0;

alter table posthorn.webhooks
  add column description  text check (length(description) <= 256),
  -- Deliveries per second on each node.
  add column rate_limit   int check (rate_limit between 1 and 1000),
  -- Headers of its own for every request: their names, and all of them encrypted as one JSON object.
  add column header_names text[] not null default '{}' check (cardinality(header_names) <= 10),
  add column headers      bytea,
  add check ((headers is null) = (header_names = '{}'));

-- They return or take more now. A node of the version before goes on with the columns it knows.
drop function if exists posthorn.claim(int, text[], int[], int, int, int, bigint);
