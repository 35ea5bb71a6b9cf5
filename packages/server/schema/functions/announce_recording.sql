-- Announces that this transaction records events of these organizations, and returns the recording time. The
-- announcement is a shared advisory lock, acquired before the clock is read and held until the transaction ends. Its
-- key contains the organization's bucket and the current time. Ascending readers stop before the earliest announcement,
-- so an event that commits later sorts after everything they have read. (Transaction IDs cannot do this: the
-- transaction with the lower ID may read the clock later.) A transaction announces each bucket once, with the time of
-- its first recording. Beyond 16 buckets, it announces all organizations at once, so as not to fill the lock table.
create or replace function posthorn.announce_recording(organizations text[]) returns timestamptz
language plpgsql
as $$
declare
  -- `posthorn.announced` is local to the transaction, so a rollback to a savepoint undoes it together with the locks.
  announced text := coalesce(nullif(current_setting('posthorn.announced', true), ''), ' ');
  xid       text := pg_current_xact_id()::text;
  buckets   int[];
begin
  if split_part(announced, ' ', 1) <> xid then
    announced := xid || ' ';
  end if;
  if position(' 4095 ' in announced) = 0 then
    select array_agg(distinct bucket) into buckets
      from (select posthorn.horizon_bucket(o) as bucket from unnest(organizations) o) b
     where position(' ' || bucket || ' ' in announced) = 0;
    if cardinality(buckets) + cardinality(string_to_array(announced, ' ')) > 18 then
      buckets := array[4095];
    end if;
    if buckets is not null then
      perform pg_advisory_xact_lock_shared(
                (83::bigint << 56) | (b::bigint << 44) | posthorn.epoch_ms(clock_timestamp()))
         from unnest(buckets) b;
      perform set_config('posthorn.announced', announced || array_to_string(buckets, ' ') || ' ', true);
    end if;
  end if;
  return date_trunc('milliseconds', clock_timestamp());
end
$$;
