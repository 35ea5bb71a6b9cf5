-- Notifies the nodes on commit that deliveries are waiting. Commits that notify wait for each other, so at most one
-- commit per 50 ms notifies. A notified node checks again after that time, and a node that cannot listen polls.
create or replace function posthorn.announce_waiting() returns void
language plpgsql
as $$
declare
  now_ms  bigint := posthorn.epoch_ms(clock_timestamp());
  last_ms bigint := (select last_value from posthorn.last_announcement);
begin
  if now_ms - last_ms between 0 and 49 then
    return;
  end if;
  perform setval('posthorn.last_announcement', now_ms);
  perform pg_notify('posthorn_deliveries', '');
end
$$;
