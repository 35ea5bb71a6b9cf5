-- Returns the bucket of an organization among 4,095, for the advisory locks that announce recordings. An open
-- transaction holds back only the ascending readers of its own bucket. Bucket 4095 stands for all organizations.
create or replace function posthorn.horizon_bucket(organization text) returns int
language sql immutable parallel safe
as $$ select ((hashtextextended(organization, 0) & 2147483647) % 4095)::int $$;
