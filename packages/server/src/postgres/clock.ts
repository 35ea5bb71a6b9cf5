import type { Queryable } from './database.js';

/** Returns the database's current time, in milliseconds. */
export async function readClockMs(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ at: Date }>({ text: 'select clock_timestamp() as at' });
  return rows[0]!.at.getTime();
}

/** Returns the database's current time as text that every database parses the same way. */
export async function readClock(database: Queryable): Promise<string> {
  const { rows } = await database.query<{ at: string }>({
    text: "select (clock_timestamp() at time zone 'UTC')::text || '+00' as at",
  });
  return rows[0]!.at;
}
