import { setTimeout as wait } from 'node:timers/promises';
import { p50AndP99 } from './figures.js';
import { pace, recordMany, steady } from './load.js';
import { progress } from './progress.js';
import { startReceiver } from './receivers.js';
import { startServer } from './server.js';

const slowWebhooks = 20;
const slowSeconds = 20;
const healthyPerSecond = 100;
const fickleWebhooks = 30;
const fickleEvents = 2_000;
/** How long a receiver takes for a request. It could keep up with the rate if enough requests were sent at once. */
const ownTimesMs = [50, 300, 1_000];
const slowPerSecond = 300;
/** How long it may take until enough requests are sent at once. Only what arrives after that counts. */
const leadInSeconds = 10;
const pacedSeconds = 20;
const drainMsMax = 30_000;
const memoryAim = 'aim: at most 250';

/** Measures a healthy webhook alongside slow ones that cannot keep up, then alongside slow ones that could. */
export async function benchSlow(print) {
  await alongsideHealthy((server, others, healthy) => alongsideMany(print, server, others, healthy));
  for (const ownMs of ownTimesMs)
    await alongsideHealthy((server, others, healthy) =>
      alongsidePaced(print, ownMs, server, others, healthy),
    );
}

/**
 * Measures a healthy webhook alone, then alongside many that take seconds to respond and whose producers are ahead of
 * them.
 */
async function alongsideMany(print, server, others, healthy) {
  progress('a healthy webhook alone');
  const alone = await healthy(slowSeconds);
  for (let index = 0; index < slowWebhooks; index += 1) {
    await server.createWebhook(`${others.url}/slow`, ['agent.run.completed']);
  }
  await recordMany(server, 500);
  let isOver = false;
  const ahead = (async () => {
    while (!isOver) {
      await recordMany(server, 100);
      await wait(100);
    }
  })();
  progress(`alongside ${slowWebhooks} slow ones`);
  const alongside = await healthy(slowSeconds);
  isOver = true;
  await ahead;
  print('healthy webhook alone, p50 and p99', p50AndP99(alone), '');
  print(`alongside ${slowWebhooks} that take 3 s and cannot keep up`, p50AndP99(alongside), '');
  print('memory of the server process, peak', `${await server.memoryMb()} MB`, memoryAim);
}

/** Measures whether a slow webhook keeps up with a rate that it could handle, and how much it slows down a fast one. */
async function alongsidePaced(print, ownMs, server, others, healthy) {
  const name = `a receiver that takes ${ownMs} ms`;
  progress(`a healthy webhook alone, before ${name}`);
  const alone = await healthy(pacedSeconds);
  await server.createWebhook(`${others.url}/after/${ownMs}`, ['agent.run.completed']);
  const count = (leadInSeconds + pacedSeconds) * slowPerSecond;
  const { arrived } = await others.expect(count);
  progress(`${name}, ${slowPerSecond} events/s`);
  const paced = pace(server, count, slowPerSecond);
  await wait(leadInSeconds * 1000);
  const early = (await others.report()).received;
  const [alongside] = await Promise.all([healthy(pacedSeconds - 1), paced]);
  const backlog = count - (await others.report()).received;
  const drained = await Promise.race([arrived.then(() => true), wait(drainMsMax, false, { ref: false })]);
  const { delays } = await others.report();
  print(`${name}: backlog after ${leadInSeconds + pacedSeconds} s`, `${backlog} events`, 'aim: next to none');
  print(`  drained within ${drainMsMax / 1000} s`, drained ? 'yes' : 'no', 'aim: yes');
  print('  its own latency, p50 and p99', p50AndP99(delays.slice(early)), '');
  print('  a fast webhook alone, p50 and p99', p50AndP99(alone), '');
  print('  a fast webhook alongside it, p50 and p99', p50AndP99(alongside), 'aim: p99 at most 2 x alone');
}

/** Measures a healthy webhook at the moment when many others, which have responded so far, all begin to hang. */
export function benchStall(print) {
  return alongsideHealthy(async (server, others, healthy) => {
    for (let index = 0; index < fickleWebhooks; index += 1) {
      await server.createWebhook(`${others.url}/fickle`, ['agent.run.completed']);
    }
    const { arrived } = await others.expect(fickleEvents * fickleWebhooks);
    progress(`${fickleEvents} events for ${fickleWebhooks} webhooks that respond`);
    await recordMany(server, fickleEvents);
    await arrived;
    others.hang();
    progress('they hang');
    await recordMany(server, fickleEvents);
    const delays = await healthy(10);
    print(`healthy webhook after ${fickleWebhooks} others hang, p50 and p99`, p50AndP99(delays), '');
    print('  highest', `${Math.max(...delays)} ms`, '');
  });
}

/**
 * Starts a server with a healthy webhook that has already received events, and a receiver for the others. Passes both
 * to `work`.
 */
async function alongsideHealthy(work) {
  const receiver = await startReceiver();
  const others = await startReceiver();
  // At the default of 256, a receiver that takes a second gets at most 256 requests per second.
  const server = await startServer({ POSTHORN_REQUESTS_PER_WEBHOOK: '512' });
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
