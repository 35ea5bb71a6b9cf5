import { readCatalogue, readRevision } from '../catalogue/catalogue-store.js';
import { InvalidInput } from '../values/fault.js';
import type { NewEvent, NewPlatformEvent } from './event.js';
import { createEventChecker, type EventChecker } from './new-event.js';
import * as recording from './recording-store.js';

/** Reports events that the catalogue refuses. Nothing was recorded, and the caller's transaction is untouched. */
export class InvalidEvents extends InvalidInput {
  override name = 'InvalidEvents';
}

/**
 * Records events in the caller's `pg` transaction: they exist only if it commits. Returns the ID and time of each
 * event, in order. Throws `InvalidEvents` if the catalogue refuses one.
 */
export async function recordEvents(
  client: recording.TransactionClient,
  events: readonly NewPlatformEvent[],
): Promise<readonly recording.RecordedEvent[]> {
  const check = await checkerFor(client);
  const faults = check(events);
  if (faults.length > 0) throw new InvalidEvents(faults);
  return recording.recordEvents(recording.queryable(client), events as readonly NewEvent[]);
}

/** A node of the service also needs up to this long to see a change of the catalogue. */
const freshMs = 2_000;

const seen = new WeakMap<recording.TransactionClient, { revision: string; atMs: number }>();
/** The latest, because reading the types and compiling their schemas takes milliseconds. */
let latest: { revision: string; check: EventChecker } | undefined;

async function checkerFor(client: recording.TransactionClient): Promise<EventChecker> {
  const last = seen.get(client);
  const isFresh = last && performance.now() - last.atMs < freshMs;
  if (isFresh && latest?.revision === last.revision) return latest.check;
  const database = recording.queryable(client);
  const atMs = performance.now();
  if (latest?.revision !== (await readRevision(database))) {
    const { revision, catalogue } = await readCatalogue(database);
    latest = { revision, check: createEventChecker(catalogue) };
  }
  seen.set(client, { revision: latest.revision, atMs });
  return latest.check;
}
