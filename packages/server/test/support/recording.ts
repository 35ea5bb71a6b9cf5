import type { RecordedEvent } from '../../src/events/recording-store.js';

/** Anything that runs a statement: a client of `pg` or our own pool. */
interface Runner {
  query(statement: { text: string; values: unknown[] }): Promise<{ rows: object[] }>;
}

/** Records the text of a JSON array as it is, in the transaction of the client. */
export async function recordText(client: Runner, events: string): Promise<RecordedEvent[]> {
  const { rows } = await client.query({
    text: 'select id, created_at from posthorn.record_events($1) order by ordinal',
    values: [events],
  });
  return rows as RecordedEvent[];
}
