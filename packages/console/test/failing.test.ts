import type { Delivery } from '@posthorn/client';
import { describe, expect, it } from 'vitest';
import { isFailing, mayAskToWait } from '../src/api/webhook-verdict.js';

const at = (second: number) => new Date(Date.UTC(2026, 10, 18, 10, 0, second)).toISOString();
const delivered = (second: number) =>
  ({
    status: 'success',
    final: true,
    attempts: 1,
    created_at: at(second),
    delivered_at: at(second),
  }) as Delivery;
const failed = (second: number, more: Partial<Delivery> = {}) =>
  ({
    ...{ status: 'failed', final: false, attempts: 1, created_at: at(second), last_attempt_at: at(second) },
    ...more,
  }) as Delivery;

describe('a webhook whose latest attempt failed', () => {
  it('is failing if no attempt has succeeded', () => {
    expect(isFailing([failed(1)], false)).toBe(true);
  });

  it('is not failing because of one or two attempts since the latest success', () => {
    expect(isFailing([failed(4), delivered(3), failed(2), failed(1)], false)).toBe(false);
    expect(isFailing([failed(5), failed(4), delivered(3)], false)).toBe(false);
  });

  it('is failing after three attempts in a row, of several deliveries or of one', () => {
    expect(isFailing([failed(6), failed(5), failed(4), delivered(3)], false)).toBe(true);
    expect(isFailing([failed(4, { attempts: 3, last_attempt_at: at(9) }), delivered(3)], false)).toBe(true);
    // Of a delivery that is older than the latest success, only the latest attempt is known to be newer.
    expect(isFailing([delivered(3), failed(1, { attempts: 3, last_attempt_at: at(9) })], false)).toBe(false);
  });

  it('is not failing while its receiver asks to wait, unless a delivery was given up', () => {
    expect(isFailing([failed(6), failed(5), failed(4)], true)).toBe(false);
    expect(isFailing([failed(6), failed(5, { final: true })], true)).toBe(true);
    expect(isFailing([failed(6), delivered(5), failed(4, { final: true })], false)).toBe(true);
  });

  it('asks to wait if the attempt that failed last says so', () => {
    const busy = failed(1, { http_status: 503, last_attempt_at: at(9) });
    expect(mayAskToWait([delivered(5), failed(4, { http_status: 500 }), busy])).toBe(busy);
    expect(mayAskToWait([failed(4, { http_status: 500 }), failed(1, { http_status: 429 })])).toBeUndefined();
  });
});
