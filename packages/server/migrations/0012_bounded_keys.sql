-- Whoever records, over HTTP or in SQL. Not of those that are there already: they are gone in a day.
alter table posthorn.event_keys
  add constraint idempotency_key_has_1_to_255_characters check (length(key) between 1 and 255) not valid;
