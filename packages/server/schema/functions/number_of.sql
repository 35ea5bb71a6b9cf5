-- Returns the number in an identifier made by `numbered`. For any other identifier, the number is meaningless.
create or replace function posthorn.number_of(id text) returns bigint
language sql immutable parallel safe
as $$ select case when id ~ '[0-9A-F]{10}$' then ('x' || right(id, 10))::bit(40)::bigint else -1 end $$;
