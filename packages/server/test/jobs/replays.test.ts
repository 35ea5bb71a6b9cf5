import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { Replays } from '../../src/jobs/replays.js';
import { Database, type Transaction } from '../../src/storage/database.js';
import { createReplay, type Replay } from '../../src/storage/replays.js';
import { recordFor, withNode } from '../support/deliveries.js';

/** Cuts off as many transactions as it is told to, and notes how far the others advanced the replay. */
class UnsteadyDatabase extends Database {
  refusals = 2;
  readonly done: number[] = [0];
  end: () => void = () => undefined;
  readonly ended = new Promise<void>((resolve) => {
    this.end = resolve;
  });

  override async transaction<T>(work: (client: Transaction) => Promise<T>): Promise<T> {
    if (this.refusals > 0) {
      this.refusals -= 1;
      throw new Error('refused');
    }
    const result = await super.transaction(work);
    const replay = result as Replay;
    this.done.push(replay.done);
    if (replay.status !== 'running') this.end();
    return result;
  }
}

test('a replay that had to continue in small pages returns to large ones', async () => {
  const { database, url, node } = await withNode();
  await recordFor(database, node, 1_000);
  const range = { from_at: new Date(0), to_at: new Date(Date.now() + 60_000) };
  const all = { event_types: null, only_failed: false };
  await createReplay(database, { organization_id: 'ORG-acme', webhook_id: 'WHK-1', ...range, ...all });
  const unsteady = new UnsteadyDatabase({ connectionString: url });
  const replays = new Replays(unsteady, pino({ level: 'silent' }));
  onTestFinished(async () => {
    await replays.stop();
    await unsteady.close();
  });
  await unsteady.ended;
  const pages = unsteady.done.slice(1).map((done, index) => done - unsteady.done[index]!);
  expect(pages[0]).toBeLessThan(50);
  expect(Math.max(...pages)).toBeGreaterThan(2 * pages[0]!);
});
