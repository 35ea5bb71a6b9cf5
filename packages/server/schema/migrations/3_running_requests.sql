-- Whether the write is committed, but its response has not been sent yet. The response is stored with the write, so that
-- a repeated request does not write again if the first one never ends.
alter table posthorn.request_keys add column running boolean not null default false;
