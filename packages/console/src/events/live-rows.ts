import type { Event } from '@posthorn/client';
import { isNewer } from '../api/event-order';
import type { EventPage } from '../api/events';

/**
 * The events received in one period of live mode: every event since its start, even if the connection was lost in
 * between.
 */
export interface TailRun {
  /** When the tail first connected, on the same clock as `readAtMs` of a page. */
  startedAtMs: number;
  /** Newest first. */
  events: readonly Event[];
}

type Runs = readonly TailRun[];
type Pages = readonly EventPage[];

/**
 * If a run has more events than this, the list is read again, so that the run can drop the events that the list then
 * contains.
 */
export const keptMax = 1_000;

export function withRun(runs: Runs, startedAtMs: number): Runs {
  return [...runs, { startedAtMs, events: [] }];
}

/** Adds an event to the latest run. */
export function withEvent(runs: Runs, event: Event): Runs {
  const latest = runs.at(-1);
  return latest ? [...runs.slice(0, -1), { ...latest, events: [event, ...latest.events] }] : runs;
}

/** A list that was read after a run started contains every event from before the run: nothing is missing in between. */
const continues = (run: TailRun, [first]: Pages) => first !== undefined && run.startedAtMs <= first.readAtMs;

/**
 * Returns the runs without what the list has made superfluous: runs before the latest one that continues the list,
 * events that it contains, and events older than its last row, which its next page contains.
 */
export function neededRuns(runs: Runs, pages: Pages): Runs {
  const index = runs.findLastIndex((run) => continues(run, pages));
  const run = runs[index];
  if (!run) return runs;
  const listed = new Set(pages.flatMap(({ data }) => data.map(({ id }) => id)));
  const last = pages.at(-1);
  const end = last?.hasMore ? last.data.at(-1) : undefined;
  const events = run.events.filter((event) => !listed.has(event.id) && !(end && isNewer(end, event)));
  if (index === 0 && events.length === run.events.length) return runs;
  return [{ ...run, events }, ...runs.slice(index + 1)];
}

/** Returns whether the list must be read again: the latest run does not continue it, or has become too long. */
export function mustReadAgain(runs: Runs, pages: Pages): boolean {
  const latest = neededRuns(runs, pages).at(-1);
  return latest !== undefined && (!continues(latest, pages) || latest.events.length > keptMax);
}

/** Returns the events of the list and of the run that continues it, newest first and each of them once. */
export function rowsOf(runs: Runs, pages: Pages): Event[] {
  const listed = pages.flatMap(({ data }) => data);
  const [run] = neededRuns(runs, pages);
  if (!run || !continues(run, pages)) return listed;
  // Mostly sorted already. A long transaction may have recorded events that are older than those in the list.
  return [...run.events, ...listed].sort((a, b) => (isNewer(a, b) ? -1 : 1));
}
