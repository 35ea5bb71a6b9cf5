import type { Delivery, Page } from '@posthorn/client';

/** How many deliveries an event has, and how many of them succeeded. */
export interface EventOutcome {
  delivered: number;
  all: number;
  /** Whether a delivery was given up. */
  isBad: boolean;
}

/** Returns the outcome of each event whose deliveries were all found, by the event's ID. */
export function outcomesOf(pages: readonly Page<Delivery>[]): ReadonlyMap<string, EventOutcome> {
  const outcomes = new Map<string, EventOutcome>();
  for (const page of pages) for (const delivery of complete(page)) add(outcomes, delivery);
  return outcomes;
}

/** Returns the deliveries of events whose deliveries were all found: those newer than where the search stopped. */
function complete({ data, hasMore, searchedTo }: Page<Delivery>): Delivery[] {
  const stopped = searchedTo ?? data.at(-1)?.created_at;
  if (!hasMore || stopped === undefined) return data;
  return data.filter(({ created_at }) => created_at > stopped);
}

function add(outcomes: Map<string, EventOutcome>, { event_id, status, final }: Delivery): void {
  const { delivered, all, isBad } = outcomes.get(event_id) ?? { delivered: 0, all: 0, isBad: false };
  outcomes.set(event_id, {
    delivered: delivered + (status === 'success' ? 1 : 0),
    all: all + 1,
    isBad: isBad || (status === 'failed' && final),
  });
}
