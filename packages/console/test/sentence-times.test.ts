import { expect, test } from 'vitest';
import { diagnose } from '../../server/src/outcomes/diagnosis.js';
import type { FailedAttempt } from '../../server/src/outcomes/failed-attempt.js';
import { splitAtTimes } from '../src/text/sentence-times';

const attempt: FailedAttempt = {
  purpose: 'delivery',
  next: { kind: 'due', at: new Date('2026-11-18T09:00:00Z') },
  attempted_at: new Date('2026-11-08T20:41:07.250Z'),
  http_status: 500,
  error: null,
  duration_ms: 80,
  response: null,
  url: 'https://orders.example/hooks',
  evidence: null,
};
const time = (text: string, at: string) => ({ text, at });

test('the times in an explanation of the API are found as it writes them', () => {
  const headers = { 'retry-after': String(10 * 86_400) };
  const { error_detail } = diagnose({
    ...attempt,
    http_status: 429,
    evidence: { url: attempt.url, headers },
  });
  expect(splitAtTimes(error_detail)).toEqual([
    'The receiver asked the service to wait until ',
    time('18 Nov 2026 20:41:07 UTC', '2026-11-18T20:41:07.000Z'),
    ' (status 429); the next attempt is due at ',
    time('18 Nov 2026 09:00:00 UTC', '2026-11-18T09:00:00.000Z'),
    '.',
  ]);
  expect(splitAtTimes(diagnose(attempt).remedy)).toEqual([
    'Look at its logs around ',
    time('8 Nov 2026 20:41:07 UTC', '2026-11-08T20:41:07.000Z'),
    '.',
  ]);
});

test('a time that is quoted from a response stays as the receiver wrote it', () => {
  const { error_detail } = diagnose({ ...attempt, response: 'Closed until 18 Nov 2026 20:41:07 UTC' });
  expect(error_detail).toContain('18 Nov 2026 20:41:07 UTC');
  expect(splitAtTimes(error_detail).join('')).toBe(error_detail);
});

test('what only looks like a time stays text', () => {
  const text = 'Look at its logs around 41 Foo 2026 20:41:07 UTC.';
  expect(splitAtTimes(text).join('')).toBe(text);
});
