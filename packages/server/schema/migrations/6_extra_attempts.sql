-- A redelivery of a delivery that waits for a retry is an extra attempt, outside of the schedule.
-- resume_at:      when the next scheduled attempt is due, if the coming attempt is an extra one
-- extra_attempts: how many of `attempts` were extra ones
alter table posthorn.deliveries
  add column resume_at timestamptz(3),
  add column extra_attempts smallint not null default 0,
  drop constraint deliveries_attempts_check;
-- Not validated, because that would read every delivery: the old limit of 20 was stricter.
alter table posthorn.deliveries
  add constraint deliveries_attempts_check check (attempts between 0 and 120) not valid;
