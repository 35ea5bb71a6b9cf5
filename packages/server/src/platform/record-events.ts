import { createCatalogue, type FurtherEventType } from '../domain/catalogue.js';
import type { NewEvent } from '../domain/event.js';
import type { Fault } from '../domain/fault.js';
import { createEventChecker, type EventChecker } from '../domain/new-event.js';
import { createPayloadValidator } from '../domain/payload.js';
import { type RecordedEvent, recordEvents as record, type TransactionClient } from '../storage/recording.js';

/** Reports events that the catalogue refuses. Nothing was recorded, and the caller's transaction is untouched. */
export class InvalidEvents extends Error {
  override name = 'InvalidEvents';
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(faults.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; '));
    this.faults = faults;
  }
}

export interface RecordEventsOptions {
  /** Types beyond the built-in ones, as in the file of `POSTHORN_CATALOGUE`. */
  further?: readonly FurtherEventType[];
}

let builtIn: EventChecker | undefined;

/**
 * Records events in the caller's `pg` transaction: they exist only if it commits. Returns the id and time of each
 * event, in order. Throws `InvalidEvents` if the catalogue refuses one.
 */
export async function recordEvents(
  client: TransactionClient,
  events: readonly NewEvent[],
  options: RecordEventsOptions = {},
): Promise<readonly RecordedEvent[]> {
  const faults = checkerFor(options.further)(events);
  if (faults.length > 0) throw new InvalidEvents(faults);
  return record(client, events);
}

function checkerFor(further: readonly FurtherEventType[] | undefined): EventChecker {
  if (further === undefined && builtIn) return builtIn;
  const catalogue = createCatalogue(further);
  const checker = createEventChecker(catalogue, createPayloadValidator(catalogue));
  if (further === undefined) builtIn = checker;
  return checker;
}
