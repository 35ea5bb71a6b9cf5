import { sign, signingKey } from '@posthorn/receiver';
import { Pool } from 'undici';
import { cpuMsOf, makeEvent, percentile, spread, startReceiver, startServer, written } from './rig.js';

const total = 30_000;
const warmUp = 3_000;
const latencyEvents = 3_000;
const latencyPerSecond = 300;

/** End to end and durable with one webhook, against what raw undici does to the same receiver. */
export async function benchDeliver(print) {
  const receiver = await startReceiver();
  const server = await startServer();
  try {
    const around = () => cpuMsOf(process.pid, receiver.pid);
    const rawBefore = await around();
    const rawPerSecond = await raw(receiver);
    const rawCpuUs = (((await around()) - rawBefore) * 1000) / (total + warmUp);
    await server.createWebhook(`${receiver.url}/ok`);
    await endToEnd(server, receiver, 5_000);
    const before = { ...(await written(server.database)), cpu: await server.cpuMs(), around: await around() };
    const perSecond = await endToEnd(server, receiver, total);
    await settled(server.database);
    const after = { ...(await written(server.database)), cpu: await server.cpuMs(), around: await around() };
    print('raw undici to the receiver', `${rawPerSecond} requests/s`, '');
    print('end to end, durable, one webhook', `${perSecond} events/s`, '');
    print('ratio', (perSecond / rawPerSecond).toFixed(2), 'aim: at least 0.45');
    print('rows written for an event', ((after.rows - before.rows) / total).toFixed(3), 'aim: at most 3');
    print('commits for an event', ((after.commits - before.commits) / total).toFixed(4), 'aim: at most 0.05');
    const cpuUs = (name) => `${Math.round(((after.cpu[name] - before.cpu[name]) * 1000) / total)} µs`;
    const allUs =
      ((after.cpu.server -
        before.cpu.server +
        after.cpu.database -
        before.cpu.database +
        after.around -
        before.around) *
        1000) /
      total;
    print('CPU of everything for a raw request', `${Math.round(rawCpuUs)} µs`, '');
    print('CPU of everything for an event', `${Math.round(allUs)} µs`, '');
    print('ratio by CPU, which a busy machine does not change', (rawCpuUs / allUs).toFixed(2), '');
    print('CPU of the server process for an event', cpuUs('server'), '');
    print('CPU of PostgreSQL for an event', cpuUs('database'), '');
    print('memory of the server process, peak', `${await server.memoryMb()} MB`, 'aim: at most 250');
  } finally {
    await server.stop();
    receiver.stop();
  }
}

async function raw(receiver) {
  const pool = new Pool(receiver.url, { connections: 64 });
  const { payload, ...head } = makeEvent();
  const id = 'EVT-01JAB3C4D5E6F7G8H9J0K1M2N3';
  const body = JSON.stringify({ id, created_at: new Date(), ...head, data: payload });
  const key = signingKey('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
  const send = async () => {
    const signature = sign(body, { id, timestamp: new Date(), key });
    const headers = { 'content-type': 'application/json', 'x-raw': '1', ...signature };
    const answer = await pool.request({ path: '/ok', method: 'POST', headers, body });
    await answer.body.dump();
  };
  await spread(warmUp, 64, send);
  const startedMs = performance.now();
  await spread(total, 64, send);
  const perSecond = Math.round((total * 1000) / (performance.now() - startedMs));
  await pool.close();
  return perSecond;
}

async function endToEnd(server, receiver, count) {
  const batch = 50;
  const { arrived } = await receiver.expect(count);
  const startedMs = performance.now();
  await spread(count / batch, 8, () => server.record(Array.from({ length: batch }, () => makeEvent())));
  await arrived;
  return Math.round((count * 1000) / (performance.now() - startedMs));
}

/** Waits until every outcome is written, asking seldom: the question costs too. */
async function settled(database) {
  for (;;) {
    const { rows } = await database.query(`
      select exists (select from posthorn.deliveries where status = 'pending' and leased_by is null)
          or exists (select from posthorn.deliveries where status = 'pending' and leased_by is not null)
          or exists (select from posthorn.bundles) as open`);
    if (!rows[0].open) return;
    await new Promise((waited) => setTimeout(waited, 200));
  }
}

/** From the time in the event, taken before its commit, to its arrival; one event a request. */
export async function benchLatency(print) {
  const receiver = await startReceiver();
  const server = await startServer();
  try {
    await server.createWebhook(`${receiver.url}/timed`);
    const cold = await steady(server, receiver, latencyPerSecond, latencyPerSecond);
    await steady(server, receiver, latencyPerSecond, latencyPerSecond);
    const delays = await steady(server, receiver, latencyEvents, latencyPerSecond);
    print('latency in the first second of the process, p99', `${percentile(cold, 0.99)} ms`, '');
    print(`latency at ${latencyPerSecond} events/s, p50`, `${percentile(delays, 0.5)} ms`, 'aim: at most 5');
    print(
      `latency at ${latencyPerSecond} events/s, p99`,
      `${percentile(delays, 0.99)} ms`,
      'aim: at most 25',
    );
  } finally {
    await server.stop();
    receiver.stop();
  }
}

/** Records `count` events at a steady pace and answers how long each took to arrive. */
export async function steady(server, receiver, count, perSecond, fields = {}) {
  const { arrived } = await receiver.expect(count);
  const startedMs = performance.now();
  const records = [];
  for (let sent = 0; sent < count; ) {
    const dueCount = Math.min(count, Math.floor(((performance.now() - startedMs) * perSecond) / 1000));
    for (; sent < dueCount; sent += 1) records.push(server.record([makeEvent(fields)]));
    await new Promise((next) => setTimeout(next, 2));
  }
  await Promise.all(records);
  await arrived;
  return (await receiver.report()).delays;
}
