-- When the URL or the header names of a webhook last changed. Requests of earlier attempts may have been others.
alter table posthorn.webhooks add column addressed_at timestamptz(3);
