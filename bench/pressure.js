import { Pool } from 'undici';
import { raw } from './deliver.js';
import { p50AndP99 } from './figures.js';
import { makeEvent, recordMany, spread } from './load.js';
import { progress } from './progress.js';
import { startReceiver } from './receivers.js';
import { startServer } from './server.js';
import { settled } from './store.js';

const fanoutWebhooks = 20;
const fanoutEvents = 4_000;
const largeEvents = 2_000;
const largeBytes = 100_000;
const flakyEvents = 60_000;
const memoryAim = 'aim: at most 250';

/** Measures events that each go to many webhooks, recorded faster than they can be sent. */
export async function benchFanout(print) {
  const receiver = await startReceiver();
  const server = await startServer();
  const pool = new Pool(receiver.url, { connections: 64 });
  try {
    for (let index = 0; index < fanoutWebhooks; index += 1) await server.createWebhook(`${receiver.url}/ok`);
    await deliverAll(server, receiver, 500);
    progress('measuring');
    const rawPerSecond = await raw(pool, 20_000);
    const perSecond = await deliverAll(server, receiver, fanoutEvents);
    print(`deliveries to ${fanoutWebhooks} webhooks`, `${Math.round(perSecond)} deliveries/s`, '');
    print('ratio to raw undici', (perSecond / rawPerSecond).toFixed(2), '');
    print('memory of the server process, peak', `${await server.memoryMb()} MB`, memoryAim);
  } finally {
    await pool.close();
    await server.stop();
    receiver.stop();
  }
}

async function deliverAll(server, receiver, events) {
  const count = events * fanoutWebhooks;
  const { arrived } = await receiver.expect(count);
  const startedMs = performance.now();
  await recordMany(server, events);
  await arrived;
  const perSecond = (count * 1000) / (performance.now() - startedMs);
  await settled(server.database);
  return perSecond;
}

/** Measures large payloads, recorded faster than they can be sent. */
export async function benchLarge(print) {
  const receiver = await startReceiver();
  const server = await startServer();
  try {
    await server.createWebhook(`${receiver.url}/ok`);
    const { arrived } = await receiver.expect(largeEvents);
    const payload = { ...makeEvent().payload, note: 'x'.repeat(largeBytes) };
    progress(`${largeEvents} events`);
    await spread(largeEvents / 5, 8, () =>
      server.record(Array.from({ length: 5 }, () => makeEvent({ payload }))),
    );
    await arrived;
    print(
      `memory of the server process, ${largeEvents} events of ${largeBytes / 1000} kB, peak`,
      ...[`${await server.memoryMb()} MB`, ''],
    );
  } finally {
    await server.stop();
    receiver.stop();
  }
}

/** Measures how late second attempts are if every tenth delivery fails once while producers are ahead. */
export async function benchFlaky(print) {
  const receiver = await startReceiver();
  const server = await startServer({ POSTHORN_RETRY_SCHEDULE: '1s,1s,1s,1s' });
  try {
    await server.createWebhook(`${receiver.url}/flaky`);
    const { arrived } = await receiver.expect(flakyEvents);
    progress(`${flakyEvents} events`);
    await recordMany(server, flakyEvents);
    await arrived;
    // Waits are drawn from 1 to 1.2 s.
    const late = (await receiver.report()).delays.map((ms) => ms - 1_200);
    print('delay of second attempts after they are due, p50 and p99', p50AndP99(late), '');
  } finally {
    await server.stop();
    receiver.stop();
  }
}
