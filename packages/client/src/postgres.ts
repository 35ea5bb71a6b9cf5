import type { NewEvent, RecordedEvent } from './platform-api.js';
import type { ProducedEvent } from './producer.js';

export type { NewEvent, RecordedEvent };

/** A client of `pg` with an open transaction, or anything else with this method. */
export interface TransactionClient {
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>;
}

/**
 * Records events in the caller's transaction: they exist only if it commits. Returns the ID and time of each event, in
 * order. The database checks the form of the events, but not their payloads.
 */
export async function recordEvents(
  client: TransactionClient,
  events: readonly ProducedEvent[],
): Promise<RecordedEvent[]> {
  if (events.length === 0) return [];
  const { rows } = await client.query(
    `select id, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as created_at
       from posthorn.record_events($1) order by ordinal`,
    [JSON.stringify(events)],
  );
  return rows as RecordedEvent[];
}
