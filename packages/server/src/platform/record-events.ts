import { type AddedEventType, createCatalogue } from '../domain/catalogue.js';
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
  addedTypes?: readonly AddedEventType[];
}

let builtIn: EventChecker | undefined;

/**
 * Records events in the caller's `pg` transaction: they exist only if it commits. Returns the ID and time of each
 * event, in order. Throws `InvalidEvents` if the catalogue refuses one.
 */
export async function recordEvents(
  client: TransactionClient,
  events: readonly NewEvent[],
  options: RecordEventsOptions = {},
): Promise<readonly RecordedEvent[]> {
  const faults = checkerFor(options.addedTypes)(events);
  if (faults.length > 0) throw new InvalidEvents(faults);
  return record(client, events);
}

function checkerFor(addedTypes: readonly AddedEventType[] | undefined): EventChecker {
  if (addedTypes === undefined && builtIn) return builtIn;
  const catalogue = createCatalogue(addedTypes);
  const checker = createEventChecker(catalogue, createPayloadValidator(catalogue));
  if (addedTypes === undefined) builtIn = checker;
  return checker;
}
