import fc from 'fast-check';
import { Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { DurationHistogram } from '../../src/web/duration-histogram.js';

test('a duration histogram says what the one of prom-client says', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(12_000)), async (durationsMs) => {
      const [ours, theirs] = [new Registry(), new Registry()];
      const options = { name: 'seconds', help: 'Time', buckets: [0.005, 0.01, 0.25, 1, 10] };
      const histogram = new DurationHistogram({ ...options, registry: ours });
      const reference = new Histogram({ ...options, registers: [theirs] });
      for (const ms of durationsMs) {
        histogram.observe(ms / 1000);
        reference.observe(ms / 1000);
      }
      expect(await ours.metrics()).toBe(await theirs.metrics());
    }),
    { numRuns: 50 },
  );
});
