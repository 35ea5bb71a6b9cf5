import { median, percentile } from './figures.js';
import { makeEvent, spread, steady } from './load.js';
import { progress } from './progress.js';
import { startReceiver } from './receivers.js';
import { startServer } from './server.js';

/** The speed of the machine varies, so the median of several rounds counts. */
const rounds = 7;
/**
 * Rounds until the code is compiled. A process that is still slow by itself would make the other webhooks look
 * harmless.
 */
const warmUps = 4;
/** Rounds until everything that recording the backlog has caused is over. */
const settlingIn = 1;
const perRound = 1_000;
const perSecond = 200;
const backlog = 100_000;
const hanging = 5;

/** Measures a healthy webhook alone, then alongside hanging ones and a dead one with a backlog of 100,000. */
export async function benchIsolation(print) {
  const receiver = await startReceiver();
  const others = await startReceiver();
  const server = await startServer({ POSTHORN_RETRY_SCHEDULE: '1s,1s,1s,1s' });
  try {
    await server.createWebhook(`${receiver.url}/timed`, ['invoice.paid']);
    const healthy = { type: 'invoice.paid', payload: {} };
    await inRounds(warmUps, server, receiver, healthy);
    const alone = await inRounds(rounds, server, receiver, healthy);
    await server.createWebhook(`${others.url}/fail`, ['agent.run.completed']);
    for (let index = 0; index < hanging; index += 1) {
      await server.createWebhook(`${others.url}/hang`, ['invoice.paid', 'agent.run.started']);
    }
    await spread(backlog / 500, 4, () => server.record(Array.from({ length: 500 }, () => makeEvent())));
    await inRounds(settlingIn, server, receiver, healthy);
    const alongside = await inRounds(rounds, server, receiver, healthy);
    const listed = (p99s) => `${p99s.join(' ')} ms`;
    print('healthy webhook alone, p99 of each round', listed(alone), '');
    print(`alongside ${hanging} hanging ones and a backlog of ${backlog}`, listed(alongside), '');
    print('ratio of the medians', (median(alongside) / median(alone)).toFixed(2), 'aim: at most 2');
    print('memory of the server process, peak', `${await server.memoryMb()} MB`, 'aim: at most 250');
  } finally {
    await server.stop();
    receiver.stop();
    others.stop();
  }
}

/** Returns the p99 of each round. */
async function inRounds(count, server, receiver, fields) {
  const p99s = [];
  for (let round = 0; round < count; round += 1) {
    progress(`round ${round + 1} of ${count}`);
    p99s.push(percentile(await steady(server, receiver, perRound, perSecond, fields), 0.99));
  }
  return p99s;
}
