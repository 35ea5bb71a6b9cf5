import { steady } from './deliver.js';
import { makeEvent, percentile, spread, startReceiver, startServer } from './rig.js';

const count = 2_000;
const perSecond = 200;
const backlog = 100_000;
const hanging = 5;

/** A healthy webhook alone, then beside hanging ones and a dead one with a backlog of 100,000. */
export async function benchIsolation(print) {
  const receiver = await startReceiver();
  const others = await startReceiver();
  const server = await startServer({ POSTHORN_RETRY_SCHEDULE: '1s,1s,1s,1s' });
  try {
    await server.createWebhook(`${receiver.url}/timed`, ['invoice.paid']);
    const healthy = { type: 'invoice.paid', payload: {} };
    await steady(server, receiver, 500, perSecond, healthy);
    const alone = await steady(server, receiver, count, perSecond, healthy);
    await server.createWebhook(`${others.url}/fail`, ['agent.run.completed']);
    for (let index = 0; index < hanging; index += 1) {
      await server.createWebhook(`${others.url}/hang`, ['invoice.paid', 'agent.run.started']);
    }
    await spread(backlog / 500, 4, () => server.record(Array.from({ length: 500 }, () => makeEvent())));
    const beside = await steady(server, receiver, count, perSecond, healthy);
    const [p99Alone, p99Beside] = [percentile(alone, 0.99), percentile(beside, 0.99)];
    print('healthy webhook alone, p99', `${p99Alone} ms`, '');
    print(`beside ${hanging} hanging and a backlog of ${backlog}, p99`, `${p99Beside} ms`, '');
    print('ratio', (p99Beside / p99Alone).toFixed(2), 'aim: at most 2');
    print('memory of the server process, peak', `${await server.memoryMb()} MB`, 'aim: at most 250');
  } finally {
    await server.stop();
    receiver.stop();
    others.stop();
  }
}
