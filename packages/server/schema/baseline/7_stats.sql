-- Counts for GET /v1/stats, whose cost must not depend on the number of deliveries or events. Weekly partitions (UTC).

-- The results of attempts. A process overwrites its row with the complete counts, so a repeated write changes nothing.
create table posthorn.delivery_counts (
  organization_id text collate "C" not null,
  -- One webhook (WHK-…), the webhooks of a workspace (WS-…), or all webhooks ('').
  scope           text collate "C" not null,
  -- The length of the period in minutes.
  step            smallint not null check (step in (1, 60)),
  at              timestamptz(3) not null,
  -- Distinguishes the counts of different processes.
  part            int not null,
  delivered       int not null,
  failed_attempts int not null,
  given_up        int not null,
  -- A histogram of how long successful attempts took: see stats/stats.ts.
  latencies       int[] not null,
  primary key (organization_id, scope, step, at, part)
) partition by range (at);

-- The number of recorded events.
create table posthorn.event_counts (
  organization_id text collate "C" not null,
  -- The events of a workspace (WS-…), or all events ('').
  scope           text collate "C" not null,
  -- The length of the period in minutes. Days are counted as well, because each event type has its own row:
  -- adding up the hours of many days would read too many rows.
  step            smallint not null check (step in (1, 60, 1440)),
  at              timestamptz(3) not null,
  type            text collate "C" not null,
  events          int not null,
  primary key (organization_id, scope, step, at, type)
) partition by range (at);

-- The time up to which events are counted, in one row.
create table posthorn.event_count_progress (
  counted_until timestamptz not null
);
insert into posthorn.event_count_progress values (now());
