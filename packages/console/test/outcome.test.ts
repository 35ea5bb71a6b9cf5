import type { Delivery, Page } from '@posthorn/client';
import { describe, expect, it } from 'vitest';
import { outcomesOf } from '../src/views/events/outcome.js';

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

  it('is the one of the latest delivery to a webhook that the event was sent to again', () => {
    const outcomes = outcomesOf([
      page([delivery('EVT-2', 3, 'success'), delivery('EVT-2', 2, 'failed')]),
      page([delivery('EVT-1', 1, 'success'), delivery('EVT-1', 2, 'failed')]),
    ]);
    expect(outcomes.get('EVT-2')).toEqual({ delivered: 1, all: 1, isBad: false });
    expect(outcomes.get('EVT-1')).toEqual({ delivered: 0, all: 1, isBad: true });
  });

  it('is unknown for an event that the end of the page may have cut', () => {
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
