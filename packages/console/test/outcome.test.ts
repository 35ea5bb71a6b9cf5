import type { Delivery, Event, Page } from '@posthorn/client';
import { describe, expect, it } from 'vitest';
import type { EventPage } from '../src/api/events.js';
import {
  keptMax,
  mustReadAgain,
  neededRuns,
  rowsOf,
  type TailRun,
  withEvent,
  withRun,
} from '../src/events/live-rows.js';
import { outcomesOf } from '../src/events/outcome.js';

const at = (second: number) => `2026-11-16T10:00:0${second}.000Z`;
const delivery = (event_id: string, second: number, status: 'success' | 'failed', webhook_id = 'WHK-1') =>
  ({ event_id, webhook_id, created_at: at(second), status, final: true }) as Delivery;
const page = (data: Delivery[], more: Partial<Page<Delivery>> = {}) => ({
  ...{ data, cursor: null, hasMore: false },
  ...more,
});

describe('the outcome of an event', () => {
  it('counts the webhooks that received it, and says whether one was given up', () => {
    const outcomes = outcomesOf([
      page([delivery('EVT-2', 2, 'success'), delivery('EVT-2', 2, 'failed', 'WHK-2')]),
    ]);
    expect(outcomes.get('EVT-2')).toEqual({ delivered: 1, all: 2, isBad: true });
  });

  it('is that of the latest delivery to a webhook that the event was sent to again', () => {
    const outcomes = outcomesOf([
      page([delivery('EVT-2', 3, 'success'), delivery('EVT-2', 2, 'failed')]),
      page([delivery('EVT-1', 1, 'success'), delivery('EVT-1', 2, 'failed')]),
    ]);
    expect(outcomes.get('EVT-2')).toEqual({ delivered: 1, all: 1, isBad: false });
    expect(outcomes.get('EVT-1')).toEqual({ delivered: 0, all: 1, isBad: true });
  });

  it('is unknown for an event that the end of the page may have cut off', () => {
    const cut = page([delivery('EVT-2', 2, 'success'), delivery('EVT-1', 1, 'success')], { hasMore: true });
    expect([...outcomesOf([cut]).keys()]).toEqual(['EVT-2']);
  });

  it('is unknown for events older than where a short or empty page stopped', () => {
    const found = [delivery('EVT-3', 3, 'success'), delivery('EVT-2', 2, 'success')];
    const short = page(found, { hasMore: true, searchedTo: at(1) });
    expect([...outcomesOf([short]).keys()]).toEqual(['EVT-3', 'EVT-2']);
    expect([...outcomesOf([page([], { hasMore: true, searchedTo: at(1) })]).keys()]).toEqual([]);
  });
});

describe('the rows of the event list', () => {
  const event = (number: number) =>
    ({ id: `EVT-${number}`, created_at: new Date(number).toISOString() }) as Event;
  /** The events from one number down to another, as a page that was read at a time. */
  const listed = (from: number, to: number, readAtMs: number, hasMore = true): EventPage => ({
    ...{ data: Array.from({ length: from - to + 1 }, (_, index) => event(from - index)) },
    ...{ cursor: null, hasMore, readAtMs },
  });
  const received = (runs: readonly TailRun[], ...numbers: number[]) =>
    numbers.reduce((now, number) => withEvent(now, event(number)), runs);
  const numbers = (runs: readonly TailRun[], pages: readonly EventPage[]) =>
    rowsOf(runs, pages).map(({ id }) => Number(id.slice('EVT-'.length)));

  it('wait for the list to be read again when live mode is turned on, because events may have arrived in the meantime', () => {
    const runs = received(withRun([], 200), 106, 107);
    const before = [listed(104, 102, 100)];
    expect(mustReadAgain(runs, before)).toBe(true);
    expect(numbers(runs, before)).toEqual([104, 103, 102]);
    // 105 came before the tail, and 106 is in both.
    const after = [listed(106, 104, 201)];
    expect(mustReadAgain(runs, after)).toBe(false);
    expect(numbers(runs, after)).toEqual([107, 106, 105, 104]);
    expect(numbers(neededRuns(runs, after), after)).toEqual([107, 106, 105, 104]);
  });

  it('stay when live mode is turned off and on again, until the list contains them', () => {
    const pages = [listed(105, 103, 201)];
    const first = received(withRun([], 200), 106, 107);
    expect(numbers(first, pages)).toEqual([107, 106, 105, 104, 103]);
    const second = received(withRun(neededRuns(first, pages), 300), 109);
    expect(mustReadAgain(second, pages)).toBe(true);
    expect(numbers(second, pages)).toEqual([107, 106, 105, 104, 103]);
    const again = [listed(108, 106, 301), listed(105, 103, 302)];
    expect(numbers(second, again)).toEqual([109, 108, 107, 106, 105, 104, 103]);
    expect(neededRuns(second, again)).toHaveLength(1);
  });

  it('have no gap if the list is read again long after live mode was turned off', () => {
    const runs = received(withRun([], 200), 106, 107);
    expect(numbers(runs, [listed(205, 203, 900)])).toEqual([205, 204, 203]);
    expect(numbers(runs, [listed(108, 107, 900)])).toEqual([108, 107]);
    expect(numbers(runs, [listed(108, 107, 900), listed(106, 105, 901)])).toEqual([108, 107, 106, 105]);
  });

  it('contain an event that a long transaction recorded, in its place', () => {
    const runs = received(withRun([], 200), 104, 106);
    expect(numbers(runs, [listed(105, 105, 201), listed(103, 102, 202)])).toEqual([106, 105, 104, 103, 102]);
  });

  it('are read again after many live events, and have no gap before or after that', () => {
    const many = Array.from({ length: keptMax + 1 }, (_, index) => 106 + index);
    const runs = received(withRun([], 200), ...many);
    const pages = [listed(105, 103, 201)];
    expect(mustReadAgain(runs, pages)).toBe(true);
    expect(numbers(runs, pages)).toEqual([...many.toReversed(), 105, 104, 103]);
    const newest = many.at(-1)!;
    const again = [listed(newest, newest - 2, 300)];
    const kept = received(neededRuns(runs, again), newest + 1);
    expect(mustReadAgain(kept, again)).toBe(false);
    expect(numbers(kept, again)).toEqual([newest + 1, newest, newest - 1, newest - 2]);
    // Also if the list contains all of them.
    const all = [listed(newest, 103, 300, false)];
    expect(mustReadAgain(runs, all)).toBe(false);
    expect(numbers(runs, all)).toHaveLength(many.length + 3);
  });
});
