-- Which of the subscribed events a webhook gets: as it was given, and as a path that finds something in
-- posthorn.filterable of the events that pass.
alter table posthorn.webhooks
  add column filter json,
  add column filter_path jsonpath,
  add check ((filter is null) = (filter_path is null));

create index webhooks_filtered on posthorn.webhooks (organization_id) where filter_path is not null;
