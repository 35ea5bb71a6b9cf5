import { expect, test } from 'vitest';
import { Metrics } from '../../src/operations/metrics.js';

const responded = (httpStatus: number) =>
  ({
    kind: 'response',
    httpStatus,
    durationMs: 1,
    response: null,
    headers: {},
    retryAfterMs: undefined,
  }) as const;

test('attempts are counted by verdict and duration', async () => {
  const metrics = new Metrics();
  const lasting = (durationMs: number) => ({ kind: 'no_response', error: 'timeout', durationMs }) as const;
  for (const durationMs of [5, 5.1, 12_000]) metrics.observeAttempt(lasting(durationMs), 'retry');
  const text = await metrics.registry.metrics();
  expect(text).toContain('\nposthorn_delivery_attempts_total{verdict="retry"} 3\n');
  for (const verdict of ['delivered', 'given_up', 'gone'])
    expect(text).toContain(`\nposthorn_delivery_attempts_total{verdict="${verdict}"} 0\n`);
  const seconds = 'posthorn_delivery_attempt_duration_seconds';
  expect(text).toContain(`\n# TYPE ${seconds} histogram\n`);
  expect(text).toContain(`\n${seconds}_bucket{le="0.005"} 1\n`);
  expect(text).toContain(`\n${seconds}_bucket{le="0.01"} 2\n`);
  expect(text).toContain(`\n${seconds}_bucket{le="+Inf"} 3\n`);
});

test('whatever a receiver returns, a failed attempt is counted under one of a fixed set of reasons', async () => {
  const metrics = new Metrics();
  const reasons = async () =>
    [
      ...(await metrics.registry.metrics()).matchAll(
        /^posthorn_delivery_attempt_failures_total\{reason="(.+)"\} (\d+)$/gm,
      ),
    ].map(([, reason, count]) => [reason, Number(count)] as const);
  const before = await reasons();
  expect(before.every(([, count]) => count === 0)).toBe(true);
  for (const status of [101, 302, 404, 499, 503, 600, 999])
    metrics.observeAttempt(responded(status), 'retry');
  metrics.observeAttempt(responded(204), 'delivered');
  metrics.observeAttempt({ kind: 'no_response', error: 'dns', durationMs: 1 }, 'given_up');
  const after = await reasons();
  expect(after.map(([reason]) => reason)).toEqual(before.map(([reason]) => reason));
  expect(Object.fromEntries(after.filter(([, count]) => count > 0))).toEqual({
    ...{ dns: 1, '1xx': 1, '3xx': 1, '4xx': 2, '5xx': 1, other_status: 2 },
  });
});

test('requests that fail with 500 are counted from 0, so that an alert sees the first one', async () => {
  const metrics = new Metrics();
  const onFinished = metrics.observeRequests('public');
  const series = '\nposthorn_internal_errors_total{listener="public"}';
  expect(await metrics.registry.metrics()).toContain(`${series} 0\n`);
  for (const status of [200, 404, 500, 503]) onFinished('/v1/events', 'GET', status, 0.001);
  expect(await metrics.registry.metrics()).toContain(`${series} 1\n`);
});

test('a gauge that cannot be read shows no old value', async () => {
  const metrics = new Metrics();
  let read: () => Promise<Record<string, number>> = async () => ({ a: 1 });
  let age: () => number = () => 7;
  metrics.watch('labelled', 'Labelled', () => read(), 'kind');
  metrics.watch('age', 'Age', () => age());
  const before = await metrics.registry.metrics();
  expect(before).toContain('labelled{kind="a"} 1');
  expect(before).toContain('\nage 7\n');
  read = async () => ({ b: 2 });
  age = () => {
    throw new Error('unreachable');
  };
  const text = await metrics.registry.metrics();
  expect(text).toContain('labelled{kind="b"} 2');
  expect(text).not.toContain('kind="a"');
  expect(text).toContain('\nage Nan\n');
});
