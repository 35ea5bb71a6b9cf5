import pg from 'pg';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { createReplay, type Replay, readReplay } from '../../src/deliveries/replay-store.js';
import { Replays } from '../../src/deliveries/replays.js';
import { Database, type Statement, type Transaction } from '../../src/postgres/database.js';
import { event } from '../support/client.js';
import { deliveriesOf, recordFor, subscribe, withNode } from '../support/deliveries.js';
import { recordText } from '../support/recording.js';

/** Cuts off as many transactions as the test says, and notes how far the others advanced the replay. */
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

test('a replay that had to continue in small pages returns to large ones, and sends each event once', async () => {
  const { database, url, node } = await withNode();
  const { events } = await recordFor(database, node, 500);
  const { organization_id, id: webhook_id } = await subscribe(database, { id: 'WHK-2' });
  const range = { from_at: new Date(0), to_at: new Date(Date.now() + 60_000) };
  const all = { event_types: null, only_failed: false };
  await createReplay(database, { organization_id, webhook_id, ...range, ...all });
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
  const sent = (await deliveriesOf(database, organization_id)).filter((one) => one.webhook_id === webhook_id);
  expect(sent.map(({ event_id }) => event_id).sort()).toEqual(events.map(({ id }) => id).sort());
});

/** Notes when a node looks for a replay and it is the turn of none. */
class WatchedDatabase extends Database {
  rest: () => void = () => undefined;
  readonly resting = new Promise<void>((resolve) => {
    this.rest = resolve;
  });

  override async query<Row extends object>(statement: Statement) {
    const result = await super.query<Row>(statement);
    if (result.rowCount === 0) this.rest();
    return result;
  }
}

test('a replay that waits for an open transaction is tried again after a pause, while others continue', async () => {
  const { database, url, node } = await withNode();
  await recordFor(database, node, 600);
  const waiting = await subscribe(database, { organization_id: 'ORG-open', id: 'WHK-2' });
  const producer = new pg.Client({ connectionString: url });
  await producer.connect();
  await producer.query('begin');
  await recordText(producer, JSON.stringify([event({ organization_id: waiting.organization_id })]));
  const start = async (organization_id: string, webhook_id: string) => {
    const range = { from_at: new Date(0), to_at: new Date(Date.now() + 60_000) };
    const all = { event_types: null, only_failed: false };
    const { id } = (await createReplay(database, { organization_id, webhook_id, ...range, ...all }))!;
    return () => readReplay(database, { organization_id, webhook_id, id });
  };
  const [open, other] = [await start(waiting.organization_id, waiting.id), await start('ORG-acme', 'WHK-1')];
  const watched = new WatchedDatabase({ connectionString: url });
  const replays = new Replays(watched, pino({ level: 'silent' }));
  onTestFinished(async () => {
    await replays.stop();
    await watched.close();
    await producer.end();
  });
  await watched.resting;
  expect([await open(), await other()]).toMatchObject([{ status: 'running' }, { status: 'done', done: 600 }]);
  await producer.query('commit');
  await expect.poll(open).toMatchObject({ status: 'done', done: 1 });
});
