create or replace function posthorn.epoch_ms(at timestamptz) returns bigint
language sql immutable strict parallel safe
as $$ select floor(extract(epoch from at) * 1000)::bigint $$;
