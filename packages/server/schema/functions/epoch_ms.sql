-- Returns the milliseconds since 1970. Only immutable functions occur in it, which `extract` is for an interval but not
-- for a time. So PostgreSQL inlines it, instead of planning it again for each call.
create or replace function posthorn.epoch_ms(at timestamptz) returns bigint
language sql immutable strict parallel safe
as $$ select floor(extract(epoch from at - timestamptz '1970-01-01 00:00:00+00') * 1000)::bigint $$;
