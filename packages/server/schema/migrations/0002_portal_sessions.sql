-- A portal session is a token that was made for a link to the console. Maintenance deletes it after its end.
alter table posthorn.tokens add column portal boolean not null default false;

create index tokens_of_portal on posthorn.tokens (expires_at) where portal;
