-- Returns the bucket of an organization, one of 4,095, for the advisory locks that announce recordings. An open
-- transaction delays only ascending readers of its bucket. Bucket 4095 means all organizations.
create or replace function posthorn.horizon_bucket(organization text) returns int
language sql immutable parallel safe
as $$ select ((hashtextextended(organization, 0) & 2147483647) % 4095)::int $$;
