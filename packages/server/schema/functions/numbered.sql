-- Returns an identifier: a prefix, the head that all identifiers of a recording share, and ten hexadecimal digits.
-- PostgreSQL inlines it, so a call costs no more than the expression.
create or replace function posthorn.numbered(prefix text, head text, number bigint) returns text
language sql immutable parallel safe
as $$ select prefix || head || upper(to_hex(number) collate "C") $$;
