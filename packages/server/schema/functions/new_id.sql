-- Returns a new identifier: a ULID behind the prefix.
create or replace function posthorn.new_id(prefix text, at timestamptz) returns text
language plpgsql
as $$
declare
  entropy text := replace(gen_random_uuid()::text, '-', '');
begin
  return prefix || '-'
    || posthorn.ulid_head(posthorn.epoch_ms(at), ('x' || left(entropy, 10))::bit(40)::bigint)
    || posthorn.base32(('x' || right(entropy, 10))::bit(40)::bigint);
end
$$;
