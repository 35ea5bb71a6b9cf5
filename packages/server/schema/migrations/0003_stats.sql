-- Counts for GET /v1/stats, so that its cost does not grow with the number of deliveries or events. Partitions hold one
-- week each (UTC), so that retention drops whole tables.

-- What came of attempts. A process writes the counts of a minute and of an hour again every few seconds, each time
-- complete, so that a repeated write changes nothing.
create table posthorn.delivery_counts (
  organization_id text collate "C" not null,
  -- What is counted: one webhook (WHK-…), the webhooks of a workspace (WS-…), or all webhooks ('').
  scope           text collate "C" not null,
  -- In minutes.
  step            smallint not null check (step in (1, 60)),
  at              timestamptz(3) not null,
  -- Tells apart what different processes counted.
  part            int not null,
  delivered       int not null,
  failed_attempts int not null,
  given_up        int not null,
  -- How many successful attempts took how long: see domain/latency.ts.
  latencies       int[] not null,
  primary key (organization_id, scope, step, at, part)
) partition by range (at);

-- How many events were recorded.
create table posthorn.event_counts (
  organization_id text collate "C" not null,
  -- What is counted: the events of a workspace (WS-…), or all events ('').
  scope           text collate "C" not null,
  -- In minutes. By the day as well, because there is a row for each type.
  step            smallint not null check (step in (1, 60, 1440)),
  at              timestamptz(3) not null,
  type            text collate "C" not null,
  events          int not null,
  primary key (organization_id, scope, step, at, type)
) partition by range (at);

-- How far events are counted. One row.
create table posthorn.event_count_progress (
  counted_until timestamptz not null
);

insert into posthorn.event_count_progress (counted_until)
select coalesce(min(e.created_at), now()) from posthorn.events e;

-- Finds the events of the last moments, of all organizations. It has one entry for each megabyte of events.
create index events_by_time on posthorn.events using brin (created_at) with (autosummarize = on);
