-- Returns a new identifier: the prefix and a ULID.
create or replace function posthorn.new_id(prefix text, at timestamptz) returns text
language sql
as $$
  select prefix || '-'
         || posthorn.ulid_head(posthorn.epoch_ms(at), ('x' || left(entropy, 10))::bit(40)::bigint)
         || posthorn.base32(('x' || right(entropy, 10))::bit(40)::bigint)
    from (select replace(gen_random_uuid()::text, '-', '')) as e (entropy)
$$;
