-- Returns eight characters of Crockford's base 32 for the low 40 bits of a number.
create or replace function posthorn.base32(n bigint) returns text
language sql immutable strict parallel safe
as $$
  select substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((n >> 35) & 31)::int + 1, 1) ||
         substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((n >> 30) & 31)::int + 1, 1) ||
         substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((n >> 25) & 31)::int + 1, 1) ||
         substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((n >> 20) & 31)::int + 1, 1) ||
         substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((n >> 15) & 31)::int + 1, 1) ||
         substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((n >> 10) & 31)::int + 1, 1) ||
         substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((n >>  5) & 31)::int + 1, 1) ||
         substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((n      ) & 31)::int + 1, 1)
$$;
