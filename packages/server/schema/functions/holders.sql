-- Returns the nodes that hold leases, whether they exist or not. Skips from one to the next in each index.
create or replace function posthorn.holders() returns setof int
language plpgsql stable
set enable_seqscan = off
as $$
declare
  statement text;
  holder    int;
begin
  foreach statement in array array[
    'select leased_by from posthorn.deliveries where status = ''pending'' and leased_by is not null and leased_by > $1',
    'select leased_by from posthorn.handoffs where leased_by > $1',
    'select leased_by from posthorn.backlog where leased_by is not null and leased_by > $1'
  ] loop
    -- Above 0, which is nobody's: that is held for webhooks to be verified.
    holder := 0;
    loop
      execute statement || ' order by leased_by limit 1' into holder using holder;
      exit when holder is null;
      return next holder;
    end loop;
  end loop;
end
$$;
