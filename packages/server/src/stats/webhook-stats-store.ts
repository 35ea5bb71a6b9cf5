import { readHorizonMs } from '../events/event-store.js';
import type { Database, Queryable } from '../postgres/database.js';

export interface DeliveryStats {
  success: number;
  failed: number;
  pending: number;
  p50: number | null;
  p95: number | null;
  oldest_undelivered_at: Date | null;
  hours: { hour: Date; success: number; failed: number }[];
}

interface Counts {
  success: number;
  failed: number;
}

interface WebhookRef {
  organization_id: string;
  webhook_id: string;
}

const hourMs = 3_600_000;
/**
 * Percentiles cover only the latest successes: for a busy webhook, sorting all durations would take seconds.
 */
const durationsMax = 10_000;
/** How many hours one statement counts, so that it stays within the query timeout. */
const hoursAtOnce = 4;
const webhooksMax = 1_000;
/**
 * Redeliveries and replays can commit deliveries whose time is before the horizon, so an hour is not cached until this
 * long after it ended. Their transactions take less time than that.
 */
const redeliveredMs = 60_000;

/**
 * Counts the deliveries of webhooks by hour. A busy webhook has millions in two days, so the counts of an hour are
 * cached once nothing in it can change anymore.
 */
export class DeliveryCounter {
  readonly #database: Database;
  /** By webhook, the most recently used last, then by the start of the hour. */
  readonly #finished = new Map<string, Map<number, Counts>>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Counts the deliveries created since `since`, by hour. */
  async read(webhook: WebhookRef, since: Date, now: Date): Promise<DeliveryStats> {
    // Read the horizon first: the transaction below then sees everything recorded before it.
    const horizonMs = await readHorizonMs(this.#database, webhook.organization_id);
    return this.#database.transaction(async (client) => {
      await client.query({ text: 'set transaction isolation level repeatable read, read only' });
      const { pending, oldest_undelivered_at, unfinished } = await readUndelivered(client, webhook, since);
      const isFinished = (hour: number) =>
        hour + hourMs + redeliveredMs <= horizonMs && !unfinished.has(hour);
      const hours = await this.#count(client, webhook, since.getTime(), now.getTime(), isFinished);
      const sum = (read: (counts: Counts) => number) => hours.reduce((all, one) => all + read(one), 0);
      return {
        success: sum((counts) => counts.success),
        failed: sum((counts) => counts.failed),
        pending,
        oldest_undelivered_at,
        hours,
        ...(await readDurations(client, webhook, since)),
      };
    });
  }

  async #count(
    client: Queryable,
    webhook: WebhookRef,
    sinceMs: number,
    nowMs: number,
    isFinished: (hour: number) => boolean,
  ): Promise<DeliveryStats['hours']> {
    const first = sinceMs - (sinceMs % hourMs);
    const known = this.#known(webhook.webhook_id, first);
    const counted = new Map(known);
    // Of the first hour, only the part after `since` counts.
    counted.delete(first);
    const hours = Array.from(
      { length: Math.floor((nowMs - first) / hourMs) + 1 },
      (_, n) => first + n * hourMs,
    );
    for (const [from, to] of ranges(hours.filter((hour) => !counted.has(hour)))) {
      const read = await countEnded(client, webhook, new Date(Math.max(from, sinceMs)), new Date(to));
      for (let hour = from; hour < to; hour += hourMs) {
        const counts = read.get(hour) ?? { success: 0, failed: 0 };
        counted.set(hour, counts);
        if (hour >= sinceMs && isFinished(hour)) known.set(hour, counts);
      }
    }
    return hours.map((hour) => ({ hour: new Date(hour), ...counted.get(hour)! }));
  }

  #known(webhookId: string, first: number): Map<number, Counts> {
    const known = this.#finished.get(webhookId) ?? new Map<number, Counts>();
    for (const hour of known.keys()) if (hour < first) known.delete(hour);
    this.#finished.delete(webhookId);
    this.#finished.set(webhookId, known);
    if (this.#finished.size > webhooksMax) this.#finished.delete(this.#finished.keys().next().value!);
    return known;
  }
}

/** Groups consecutive hours into ranges, each with its start and end. */
function ranges(hours: readonly number[]): [number, number][] {
  const found: [number, number][] = [];
  for (const hour of hours) {
    const last = found.at(-1);
    if (last && last[1] === hour && hour - last[0] < hoursAtOnce * hourMs) last[1] = hour + hourMs;
    else found.push([hour, hour + hourMs]);
  }
  return found;
}

interface Undelivered {
  pending: number;
  oldest_undelivered_at: Date | null;
  /** Hours with deliveries that are not final. */
  unfinished: ReadonlySet<number>;
}

async function readUndelivered(client: Queryable, webhook: WebhookRef, since: Date): Promise<Undelivered> {
  const { rows } = await client.query<{ hour: Date; pending: number; oldest: Date }>({
    text: `
  with undelivered as (
    select created_at, 1 as pending
      from posthorn.deliveries
     where organization_id = $1 and webhook_id = $2 and created_at >= $3 and status = 'pending' and leased_by is null
     union all
    select created_at, 1
      from posthorn.deliveries
     where organization_id = $1 and webhook_id = $2 and created_at >= $3
       and status = 'pending' and leased_by is not null
     union all
    select created_at, 1 from posthorn.open_shares($1, $2, null)
  )
  select date_trunc('hour', created_at, 'UTC') as hour, sum(pending)::bigint as pending,
         min(created_at) filter (where pending > 0) as oldest
    from undelivered
   group by hour
   order by hour`,
    values: [webhook.organization_id, webhook.webhook_id, since],
  });
  return {
    pending: rows.reduce((sum, { pending }) => sum + pending, 0),
    oldest_undelivered_at: rows.find(({ oldest }) => oldest !== null)?.oldest ?? null,
    unfinished: new Set(rows.map(({ hour }) => hour.getTime())),
  };
}

/** Counts final deliveries by hour. */
async function countEnded(
  client: Queryable,
  webhook: WebhookRef,
  from: Date,
  to: Date,
): Promise<ReadonlyMap<number, Counts>> {
  const { rows } = await client.query<{ hour: Date } & Counts>({
    text: `
  select date_trunc('hour', created_at, 'UTC') as hour,
         count(*) filter (where status = 'success') as success,
         count(*) filter (where status = 'failed') as failed
    from posthorn.deliveries
   where organization_id = $1 and webhook_id = $2 and created_at >= $3 and created_at < $4
   group by hour`,
    values: [webhook.organization_id, webhook.webhook_id, from, to],
  });
  return new Map(rows.map(({ hour, success, failed }) => [hour.getTime(), { success, failed }]));
}

async function readDurations(
  client: Queryable,
  webhook: WebhookRef,
  since: Date,
): Promise<Pick<DeliveryStats, 'p50' | 'p95'>> {
  const { rows } = await client.query<Pick<DeliveryStats, 'p50' | 'p95'>>({
    text: `
  select percentile_disc(0.5) within group (order by duration_ms) as p50,
         percentile_disc(0.95) within group (order by duration_ms) as p95
    from (select duration_ms
            from posthorn.deliveries
           where organization_id = $1 and webhook_id = $2 and created_at >= $3 and status = 'success'
           order by created_at desc
           limit $4) latest`,
    values: [webhook.organization_id, webhook.webhook_id, since, durationsMax],
  });
  return rows[0]!;
}
