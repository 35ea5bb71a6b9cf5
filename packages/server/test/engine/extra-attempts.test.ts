import fc from 'fast-check';
import { expect, test } from 'vitest';
import { registerNode } from '../../src/cells/node-store.js';
import { bringForward } from '../../src/deliveries/delivery-store.js';
import type { LeasedDelivery } from '../../src/events/recording-store.js';
import type { Outcome } from '../../src/outcomes/outcome.js';
import { judge } from '../../src/outcomes/retry-schedule.js';
import type { Queryable } from '../../src/postgres/database.js';
import {
  bury,
  claimFor,
  deliveryRows,
  failedOnce,
  recordFor,
  settleFor,
  withNode,
} from '../support/deliveries.js';

const hourMs = 3_600_000;
const scheduleMs = [hourMs, 2 * hourMs, 3 * hourMs];
const failure: Outcome = {
  ...{ kind: 'response', httpStatus: 503, durationMs: 1, response: null, headers: {} },
  retryAfterMs: 4 * hourMs,
};

const steps = fc.array(
  fc.constantFrom('redeliver', 'time passes', 'claim', 'fail', 'give back', 'the node dies', 'fail twice'),
  { minLength: 5, maxLength: 40 },
);

/** Makes what waits due now, as if its time had come. */
const passTime = (database: Queryable) =>
  database.query({
    text: "update posthorn.deliveries set due_at = clock_timestamp() where status = 'pending' and leased_by is null",
  });

test('redeliveries between attempts never change the schedule, whatever happens to the nodes', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const stage = await withNode();
      const { database } = stage;
      let { node } = stage;
      const [first] = (await recordFor(database, node, 1)).leased;
      let held: LeasedDelivery | undefined = first;
      const key = {
        ...{ organization_id: 'ORG-acme', webhook_id: 'WHK-1', id: first!.delivery_id },
        createdMs: first!.delivery_created_at.getTime(),
      };
      const fail = async (delivery: LeasedDelivery) => {
        const verdict = judge(failure, delivery.scheduled, scheduleMs, 0);
        const waitMs = verdict.kind === 'retry' ? verdict.waitMs : undefined;
        const { wait_ms: _, ...failed } = failedOnce(delivery, 0);
        const status = verdict.kind === 'retry' ? 'pending' : 'failed';
        await settleFor(database, node, [
          { ...failed, status, ...(waitMs !== undefined && { wait_ms: waitMs }) },
        ]);
      };
      // What must hold: how many attempts were made, how many of them the schedule had, and when its next one is due.
      let attempts = 0;
      let scheduled = 0;
      let resumeAt: number | undefined;
      for (const step of all) {
        const [row] = await deliveryRows(database);
        if (step === 'redeliver' && row) {
          const isWaiting = row.leased_by === null && row.due_at.getTime() > Date.now() + 1_000;
          if (isWaiting && row.attempts > 0) resumeAt ??= row.due_at.getTime();
          await bringForward(database, key);
        } else if (step === 'time passes') {
          await passTime(database);
        } else if (step === 'claim') {
          held ??= (await claimFor(database, node)).deliveries[0];
        } else if (step === 'give back' && held) {
          await settleFor(database, node, [
            { delivery: held, status: 'pending', attempts: held.attempts, wait_ms: 0 },
          ]);
          held = undefined;
        } else if (step === 'the node dies') {
          await bury(database, [node]);
          node = await registerNode(database, 60_000);
          held = undefined;
        } else if (step.startsWith('fail') && held) {
          await fail(held);
          // The response was lost, and the call is repeated.
          if (step === 'fail twice') await fail(held);
          attempts += 1;
          if (resumeAt === undefined) scheduled += 1;
          const [after] = await deliveryRows(database);
          expect(after).toMatchObject({
            attempts,
            status: scheduled > scheduleMs.length ? 'failed' : 'pending',
          });
          if (resumeAt !== undefined) expect(after!.due_at.getTime()).toBe(resumeAt);
          held = undefined;
          resumeAt = undefined;
        }
      }
    }),
    { numRuns: 40 },
  );
});
