-- How many attempts in a row have failed, and since when, once they are enough for an incident.
alter table posthorn.webhook_health
  add column failures int not null default 0,
  add column incident_since timestamptz(3);
