import { Pool } from 'undici';
import { raw, settled, steady } from './deliver.js';
import { makeEvent, percentile, spread, startReceiver, startServer } from './rig.js';

const fanoutWebhooks = 20;
const fanoutEvents = 4_000;
const largeEvents = 2_000;
const largeBytes = 100_000;
const slowWebhooks = 20;
const slowSeconds = 20;
const healthyPerSecond = 100;
const flakyEvents = 60_000;
const fickleWebhooks = 30;
const fickleEvents = 2_000;
const batch = 100;
const memoryAim = 'aim: at most 250';

/** One event for many webhooks, recorded faster than it can be sent. */
export async function benchFanout(print) {
  const receiver = await startReceiver();
  const server = await startServer();
  const pool = new Pool(receiver.url, { connections: 64 });
  try {
    for (let index = 0; index < fanoutWebhooks; index += 1) await server.createWebhook(`${receiver.url}/ok`);
    await deliverAll(server, receiver, 5 * batch);
    const rawPerSecond = await raw(pool, 20_000);
    const perSecond = await deliverAll(server, receiver, fanoutEvents);
    print(`deliveries to ${fanoutWebhooks} webhooks`, `${Math.round(perSecond)} a second`, '');
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

const recordMany = (server, count, fields) =>
  spread(count / batch, 4, () => server.record(Array.from({ length: batch }, () => makeEvent(fields))));

/** Large payloads, recorded faster than they can be sent. */
export async function benchLarge(print) {
  const receiver = await startReceiver();
  const server = await startServer();
  try {
    await server.createWebhook(`${receiver.url}/ok`);
    const { arrived } = await receiver.expect(largeEvents);
    const payload = { ...makeEvent().payload, note: 'x'.repeat(largeBytes) };
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

/** A healthy webhook alone, then beside many that take seconds to answer and whose producers are ahead of them. */
export function benchSlow(print) {
  return besideHealthy(async (server, others, healthy) => {
    const alone = await healthy(slowSeconds);
    for (let index = 0; index < slowWebhooks; index += 1) {
      await server.createWebhook(`${others.url}/slow`, ['agent.run.completed']);
    }
    await recordMany(server, 5 * batch);
    let isOver = false;
    const ahead = (async () => {
      while (!isOver) {
        await recordMany(server, batch);
        await new Promise((waited) => setTimeout(waited, 100));
      }
    })();
    const beside = await healthy(slowSeconds);
    isOver = true;
    await ahead;
    print('healthy webhook alone, p50 and p99', told(alone), '');
    print(`beside ${slowWebhooks} that take 3 s, with producers ahead`, told(beside), '');
    print('memory of the server process, peak', `${await server.memoryMb()} MB`, memoryAim);
  });
}

/** A healthy webhook in the moment in which many others that have answered all begin to hang. */
export function benchStall(print) {
  return besideHealthy(async (server, others, healthy) => {
    for (let index = 0; index < fickleWebhooks; index += 1) {
      await server.createWebhook(`${others.url}/fickle`, ['agent.run.completed']);
    }
    const { arrived } = await others.expect(fickleEvents * fickleWebhooks);
    await recordMany(server, fickleEvents);
    await arrived;
    others.hang();
    await recordMany(server, fickleEvents);
    const delays = await healthy(10);
    print(`${fickleWebhooks} webhooks begin to hang; a healthy one then, p50 and p99`, told(delays), '');
    print('at most', `${Math.max(...delays)} ms`, '');
  });
}

/** A server with a healthy webhook that was sent to, how long it takes for some seconds, and a receiver for others. */
async function besideHealthy(work) {
  const receiver = await startReceiver();
  const others = await startReceiver();
  const server = await startServer();
  try {
    await server.createWebhook(`${receiver.url}/timed`, ['invoice.paid']);
    const fields = { type: 'invoice.paid', payload: {} };
    const healthy = (seconds) =>
      steady(server, receiver, seconds * healthyPerSecond, healthyPerSecond, fields);
    await healthy(5);
    await work(server, others, healthy);
  } finally {
    await server.stop();
    receiver.stop();
    others.stop();
  }
}

const told = (delays) => `${percentile(delays, 0.5).toFixed(1)} ${percentile(delays, 0.99).toFixed(1)} ms`;

/** Every tenth delivery fails once, while producers are ahead: how late its second attempt comes. */
export async function benchFlaky(print) {
  const receiver = await startReceiver();
  const server = await startServer({ POSTHORN_RETRY_SCHEDULE: '1s,1s,1s,1s' });
  try {
    await server.createWebhook(`${receiver.url}/flaky`);
    const { arrived } = await receiver.expect(flakyEvents);
    await recordMany(server, flakyEvents);
    await arrived;
    // Waits are drawn from 1 to 1.2 s.
    const late = (await receiver.report()).delays.map((ms) => ms - 1_200);
    print('second attempts, later than they were due: p50 and p99', told(late), '');
  } finally {
    await server.stop();
    receiver.stop();
  }
}
