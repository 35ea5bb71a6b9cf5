import { expect, test } from 'vitest';
import { Metrics } from '../../src/web/metrics.js';

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
  expect(text).toContain(`\n${seconds}_sum 12.0101\n`);
});
