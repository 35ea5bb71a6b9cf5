-- Writes the outcomes of a node's attempts: one array per column, one row per outcome. A delivery without a row gets
-- one; an existing row is updated if the node still holds its lease. If a status is 'pending', another attempt follows
-- after `waits_ms`, measured by the database's clock, which claims also use. If `attempted_ms` is null, no attempt was
-- made, and the number in `tries` has not changed. A delivery that stays pending after an extra attempt has no wait: it
-- resumes its schedule at `resume_at`. The `done_*` parameters list the hand-offs and backlog rows that
-- are finished. The remaining parameters report the health of the webhooks (see HealthReport). Failures are given by
-- their age, not by their time: a webhook must not be disabled because the clock of a node is wrong.
--
-- Writes nothing if the node was declared dead, because its deliveries then belong to other nodes. If the response was
-- lost and the call is repeated, skips the outcomes that were already written. For a delivery with a row, it
-- recognizes them by the number of attempts or, if no attempt was made, by `due_at`, which has changed since the claim.
--
-- Does not lock webhooks: a retry may be written while its webhook is being disabled or deleted. If the commits are
-- milliseconds apart, the retry is left behind. No node sends it: a claim ends it when it is due.
--
-- Returns the IDs of the deliveries that it wrote, if `listed`; the webhooks that have had only failures for at least
-- `failing_ms`; the webhooks whose health is `unreported`, because another transaction has locked it; and the `incidents`
-- that have begun, after five failures in a row, or ended. The row of the health decides this, so each is returned once,
-- whichever nodes report. The caller records them in the same transaction: see posthorn.record_incidents.
create or replace function posthorn.settle(
  node int, listed boolean, failing_ms float8,
  organization_ids text[], webhook_ids text[], created_ms float8[], ids text[], event_ids text[], types text[],
  sizes int[], has_rows boolean[], due_ms float8[], statuses text[], tries int[], waits_ms float8[],
  attempted_ms float8[], http_statuses int[], errors text[], durations_ms int[], responses text[], evidences jsonb[],
  done_handoffs text[],
  done_organization_ids text[], done_webhook_ids text[], done_ms float8[], done_heads text[], done_firsts int[],
  health_organization_ids text[], health_webhook_ids text[], last_ms float8[], last_statuses text[],
  successes boolean[], first_failure_ages_ms float8[], last_failure_ages_ms float8[],
  leading_failures int[], leading_ages_ms float8[], trailing_failures int[], causes json[]
)
returns table (written text[], failing json, unreported text[], incidents json)
language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
-- A locked row must not delay other outcomes for long. After a timeout, the node writes them without the locked one.
set lock_timeout = '1s'
as $$
declare
  -- As `failingAfter` in engine/limits.ts.
  failures_min constant int := 5;
  now_at   timestamptz := clock_timestamp();
  inserted text[];
  updated  text[];
  failed   json;
  skipped  text[];
  happened json;
  again    boolean := false;
begin
  -- A node is declared dead by deleting its row. This lock prevents that until the transaction ends.
  perform from posthorn.nodes n where n.id = node for key share;
  if not found then
    return;
  end if;

  -- Retention may have dropped a delivery's partition in the meantime. Its outcome must not block the others.
  perform posthorn.ensure_partition('deliveries', d.day)
     from (select distinct (to_timestamp(ms / 1000) at time zone 'UTC')::date as day from unnest(created_ms) ms) d;

  -- Does not use `on conflict do nothing`, which took 20 µs more per delivery.
  loop
    begin
      with settled as (
        insert into posthorn.deliveries
               (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at, due_at, bytes,
                status, attempts, attempted_at, http_status, error, duration_ms, response, evidence)
        select o.organization_id, o.webhook_id, at.created, o.id, o.event_id, o.type, at.created,
               coalesce(clock_timestamp() + o.wait_ms * interval '1 millisecond', at.created), o.size,
               o.status, o.attempts, to_timestamp(o.attempted_ms / 1000), o.http_status, o.error, o.duration_ms,
               o.response, o.evidence
          from unnest(organization_ids, webhook_ids, created_ms, ids, event_ids, types, sizes, has_rows, statuses, tries,
                      waits_ms, attempted_ms, http_statuses, errors, durations_ms, responses, evidences) as o (
                 organization_id, webhook_id, created_ms, id, event_id, type, size, has_row, status, attempts,
                 wait_ms, attempted_ms, http_status, error, duration_ms, response, evidence)
         cross join lateral (select to_timestamp(o.created_ms / 1000)::timestamptz(3)) as at (created)
         where o.has_row is not true
           -- A delivery whose event is gone has no type. It ends without a row, which the API would not show anyway.
           and o.type is not null
           and (not again or (select d.id from posthorn.deliveries d
                               where d.organization_id = o.organization_id and d.webhook_id = o.webhook_id
                                 and d.created_at = at.created and d.id = o.id) is null)
        returning id
      )
      select array_agg(id) filter (where listed) into inserted from settled;
      exit;
    exception when unique_violation then
      if again then raise; end if;
      again := true;
    end;
  end loop;

  if has_rows is not null then
    with settled as (
      update posthorn.deliveries d
         set status = o.status,
             -- Without an attempt, it always changes: see below.
             due_at = case when o.made then coalesce(clock_timestamp() + o.wait_ms * interval '1 millisecond',
                                                       d.resume_at, d.due_at)
                           else greatest(clock_timestamp() + o.wait_ms * interval '1 millisecond',
                                         d.due_at + interval '1 millisecond') end,
             leased_by = null,
             resume_at = case when not o.made then d.resume_at end,
             extra_attempts = d.extra_attempts + (o.made and d.resume_at is not null)::int,
             attempts = o.attempts,
             attempted_at = case when o.made then to_timestamp(o.attempted_ms / 1000) else d.attempted_at end,
             http_status = case when o.made then o.http_status else d.http_status end,
             error = case when o.made then o.error else d.error end,
             duration_ms = case when o.made then o.duration_ms else d.duration_ms end,
             response = case when o.made then o.response else d.response end,
             evidence = case when o.made then o.evidence else d.evidence end,
             earlier_attempts = case when o.made and d.attempts > 0 then posthorn.earlier_attempts(d)
                                     else d.earlier_attempts end
        from (select u.*, u.attempted_ms is not null as made,
                     to_timestamp(u.due_ms / 1000)::timestamptz(3) as claimed_due_at
                from unnest(organization_ids, webhook_ids, created_ms, ids, has_rows, due_ms, statuses, tries, waits_ms,
                            attempted_ms, http_statuses, errors, durations_ms, responses, evidences) as u (
                       organization_id, webhook_id, created_ms, id, has_row, due_ms, status, attempts, wait_ms,
                       attempted_ms, http_status, error, duration_ms, response, evidence)
               where u.has_row) o
       where d.organization_id = o.organization_id and d.webhook_id = o.webhook_id
         and d.created_at = to_timestamp(o.created_ms / 1000)::timestamptz(3) and d.id = o.id
         -- Written so that the planner expects most rows to match, as they do, and uses the primary key.
         and case when d.status = 'pending' then d.leased_by = node else false end
         and d.attempts = case when o.made then o.attempts - 1 else o.attempts end
         -- Without an attempt, `attempts` stays the same, and this node may have claimed the delivery again since.
         and case when o.made then true else d.due_at = o.claimed_due_at end
      returning d.id
    )
    select array_agg(id) filter (where listed) into updated from settled;
  end if;

  delete from posthorn.handoffs h where h.head = any (done_handoffs) and h.leased_by + 0 = node;
  if done_heads is not null then
    delete from posthorn.backlog b
     using unnest(done_organization_ids, done_webhook_ids, done_ms, done_heads, done_firsts) as o (
             organization_id, webhook_id, created_ms, head, first)
     where b.organization_id = o.organization_id and b.webhook_id = o.webhook_id
       and b.created_at = to_timestamp(o.created_ms / 1000)::timestamptz(3) and b.head = o.head and b.first = o.first
       and b.leased_by + 0 = node;
  end if;

  if health_webhook_ids is not null then
    -- Does not wait for health that another transaction has locked, for example one that deletes the webhook: that
    -- would delay the outcomes of all other webhooks.
    with reports as materialized (
      select u.organization_id, u.webhook_id, to_timestamp(u.last_ms / 1000)::timestamptz(3) as last_at,
             u.last_status, u.success,
             now_at - u.first_failure_age_ms * interval '1 millisecond' as first_failure_at,
             now_at - u.last_failure_age_ms * interval '1 millisecond' as last_failure_at,
             h.webhook_id is not null as free, u.trailed, u.cause,
             -- The failures in a row up to the first success, and since when.
             h.failures + u.led as failures,
             coalesce(h.incident_since, h.failing_since,
                      now_at - u.led_age_ms * interval '1 millisecond') as since,
             h.incident_since is not null as was_open,
             h.incident_since is not null or h.failures + u.led >= failures_min as opened
        from unnest(health_organization_ids, health_webhook_ids, last_ms, last_statuses, successes,
                    first_failure_ages_ms, last_failure_ages_ms, leading_failures, leading_ages_ms, trailing_failures,
                    causes) as u (
               organization_id, webhook_id, last_ms, last_status, success, first_failure_age_ms, last_failure_age_ms,
               led, led_age_ms, trailed, cause)
        left join lateral (
             select o.webhook_id, o.failures, o.failing_since, o.incident_since
               from posthorn.webhook_health o
              where o.organization_id = u.organization_id and o.webhook_id = u.webhook_id
                for no key update skip locked) h on true
    ), reported as (
      update posthorn.webhook_health h
         set last_delivery_status = case when h.last_delivery_at > r.last_at then h.last_delivery_status
                                         else r.last_status end,
             last_delivery_at = greatest(h.last_delivery_at, r.last_at),
             failing_since = case when r.success then r.first_failure_at
                                  else coalesce(h.failing_since, r.first_failure_at) end,
             last_failure_at = case when r.success then r.last_failure_at
                                    else greatest(h.last_failure_at, r.last_failure_at) end,
             failures = case when r.success then r.trailed else r.failures end,
             incident_since = case when not r.success then case when r.opened then r.since end
                                   when r.trailed >= failures_min then r.first_failure_at end
        from reports r
       where r.free and h.organization_id = r.organization_id and h.webhook_id = r.webhook_id
      returning h.organization_id, h.webhook_id, h.failing_since, h.last_failure_at
    )
    select (select json_agg(json_build_object(
                     'organization_id', f.organization_id, 'id', f.webhook_id,
                     'failing_since_ms', posthorn.epoch_ms(f.failing_since),
                     'last_failure_ms', posthorn.epoch_ms(f.last_failure_at),
                     'now_ms', posthorn.epoch_ms(now_at)))
              from reported f
             where f.failing_since <= now_at - failing_ms * interval '1 millisecond'),
           -- The health of a webhook that was deleted is gone, and needs no report.
           (select array_agg(r.webhook_id)
              from reports r
             where not r.free
               and (select h.webhook_id from posthorn.webhook_health h
                     where h.organization_id = r.organization_id and h.webhook_id = r.webhook_id) is not null),
           (select json_agg(json_build_object('type', i.type, 'organization_id', r.organization_id,
                                              'webhook_id', r.webhook_id, 'since', i.since, 'failures', i.failures,
                                              'cause', r.cause)
                              order by r.webhook_id, i.n)
              from reports r
             cross join lateral (values (1, 'webhook.failing', r.since, r.failures, r.opened and not r.was_open),
                                        (2, 'webhook.recovered', r.since, r.failures, r.opened and r.success),
                                        (3, 'webhook.failing', r.first_failure_at, r.trailed,
                                         r.success and r.trailed >= failures_min)) as i (n, type, since, failures, applies)
             where r.free and i.applies)
      into failed, skipped, happened;
  end if;

  -- Ends or holds the deliveries of webhooks that are no longer active, except those that are being changed. Only of
  -- some of them: each has up to 1,000, and the outcomes of other webhooks are waiting. Claims find the rest.
  if 'pending' = any (statuses) then
    perform posthorn.align_waiting(i.organization_id, i.webhook_id, 1000)
       from (select distinct o.organization_id, o.webhook_id
               from unnest(organization_ids, webhook_ids, statuses) as o (organization_id, webhook_id, status)
              where o.status = 'pending'
                and (select w.status from posthorn.webhooks w
                      where w.organization_id = o.organization_id and w.id = o.webhook_id) is distinct from 'active'
              limit 5) i
      where not exists (select from posthorn.webhooks w
                         where w.organization_id = i.organization_id and w.id = i.webhook_id)
         or exists (select from posthorn.webhooks w
                     where w.organization_id = i.organization_id and w.id = i.webhook_id
                       for share skip locked);
  end if;
  return query select inserted || updated, failed, skipped, happened;
end
$$;
