import type { Delivery } from '@posthorn/client';
import { PosthornError } from '@posthorn/client';
import { describe, expect, it } from 'vitest';
import { isAboutToChange, rereadAfterMs } from '../src/deliveries/next-attempt.js';
import { effectSentenceOf, heldSentenceOf, resultOf, sentenceOf } from '../src/deliveries/redelivery.js';

const now = Date.parse('2026-11-17T13:00:00Z');
const waiting = (seconds: number | null, status: 'failed' | 'pending' = 'failed') => ({
  ...{ status, final: false, attempts: 1 },
  next_attempt_at: seconds === null ? null : new Date(now + seconds * 1_000).toISOString(),
});

describe('a delivery', () => {
  it('is read again every second only while an attempt is about to be made', () => {
    expect(isAboutToChange(waiting(5), now)).toBe(true);
    expect(isAboutToChange(waiting(-5), now)).toBe(true);
    expect(isAboutToChange(waiting(-5, 'pending'), now)).toBe(true);
    expect(isAboutToChange(waiting(60), now)).toBe(false);
    // Long overdue, or waiting until the webhook is verified.
    expect(isAboutToChange(waiting(-600), now)).toBe(false);
    expect(isAboutToChange(waiting(-600, 'pending'), now)).toBe(false);
    expect(isAboutToChange(waiting(null), now)).toBe(false);
    expect(isAboutToChange(waiting(null, 'pending'), now)).toBe(false);
  });
});

describe('a list of deliveries', () => {
  const at = (seconds: number) => new Date(now + seconds * 1_000).toISOString();

  it('is read again after the next attempt is due, and every two seconds until its result is known', () => {
    expect(rereadAfterMs([at(600), at(60), null], now)).toBe(62_000);
    expect(rereadAfterMs([at(600), at(-5)], now)).toBe(2_000);
    // Long overdue, or waiting until the webhook is verified.
    expect(rereadAfterMs([at(-600), null, undefined], now)).toBe(false);
    expect(rereadAfterMs([at(-600), at(60)], now)).toBe(62_000);
  });
});

describe('a redelivery of a selection', () => {
  it('says how it ended', () => {
    expect(resultOf(25, 0)).toBe('25 deliveries arrived.');
    expect(resultOf(1, 2)).toBe('1 delivery arrived; 2 deliveries failed again.');
    expect(resultOf(0, 1)).toBe('1 delivery failed again.');
  });

  it('says what may have been sent if a response was lost', () => {
    const all = Array.from({ length: 4 }, () => ({}) as Delivery);
    const lost = new PosthornError({ status: 0, code: 'unreachable', detail: 'There was no response.' });
    const refused = new PosthornError({ status: 409, code: 'webhook_not_active', detail: 'Not active.' });
    expect(sentenceOf({ all, sent: [], error: lost })).toBe('1 delivery may be on the way; 3 were not sent.');
    expect(sentenceOf({ all, sent: all.slice(2), error: lost })).toBe(
      '2 deliveries are on the way; 1 may be on the way; 1 was not sent.',
    );
    expect(sentenceOf({ all, sent: [], error: refused })).toBe('Nothing was sent.');
  });

  it('says what it does, in the singular for a single delivery', () => {
    expect(effectSentenceOf(1, 1)).toBe('1 delivery is waiting to retry and will be attempted now.');
    expect(effectSentenceOf(1, 0)).toBe('For 1 delivery, a new one of the same event is created.');
    expect(effectSentenceOf(3, 1)).toBe(
      '1 delivery is waiting to retry and will be attempted now. For 2 deliveries, new ones of the same events are created.',
    );
  });

  it('says what is skipped because its webhook is not active', () => {
    expect(heldSentenceOf(1)).toContain('it is waiting until its webhook is active.');
    expect(heldSentenceOf(2)).toContain('they are waiting until their webhook is active.');
  });
});
