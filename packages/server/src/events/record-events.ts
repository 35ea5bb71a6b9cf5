import { createCatalogue, type EventType } from '../catalogue/catalogue.js';
import { builtinTypes } from '../catalogue/catalogue-file.js';
import { createPayloadValidator } from '../catalogue/payload.js';
import type { Fault } from '../values/fault.js';
import type { NewEvent } from './event.js';
import { createEventChecker, type EventChecker } from './new-event.js';
import { type RecordedEvent, recordEvents as record, type TransactionClient } from './recording-store.js';

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
  /**
   * Types beyond the built-in ones, as in the file that `POSTHORN_CATALOGUE` names. Pass the same array in every call,
   * and do not change it: its schemas are compiled only once.
   */
  addedTypes?: readonly EventType[];
}

/** One for each array of added types, because compiling a schema takes milliseconds. */
const checkers = new WeakMap<readonly EventType[], EventChecker>();
const noTypes: readonly EventType[] = [];

/**
 * Records events in the caller's `pg` transaction: they exist only if it commits. Returns the ID and time of each
 * event, in order. Throws `InvalidEvents` if the catalogue refuses one.
 */
export async function recordEvents(
  client: TransactionClient,
  events: readonly NewEvent[],
  options: RecordEventsOptions = {},
): Promise<readonly RecordedEvent[]> {
  const faults = checkerFor(options.addedTypes ?? noTypes)(events);
  if (faults.length > 0) throw new InvalidEvents(faults);
  return record(client, events);
}

function checkerFor(addedTypes: readonly EventType[]): EventChecker {
  let checker = checkers.get(addedTypes);
  if (!checker) {
    const catalogue = createCatalogue(builtinTypes(), addedTypes);
    checker = createEventChecker(catalogue, createPayloadValidator(catalogue));
    checkers.set(addedTypes, checker);
  }
  return checker;
}
