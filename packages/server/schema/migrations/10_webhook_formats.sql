-- The body of a webhook's requests. Earlier attempts may have sent another one.
alter table posthorn.webhooks
  add column format text not null default 'envelope'
    check (format in ('envelope', 'event', 'thin', 'cloudevents', 'slack', 'template')),
  add column template json,
  add column format_changed_at timestamptz(3),
  add check ((format = 'template') = (template is not null));
