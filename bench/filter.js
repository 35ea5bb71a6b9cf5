import { median } from './figures.js';
import { makeEvent, spread } from './load.js';
import { progress } from './progress.js';
import { startReceiver } from './receivers.js';
import { startServer } from './server.js';
import { settled } from './store.js';

const webhooks = 100;
const rounds = 7;
const perRound = 5_000;
const batch = 100;
const other = 'ORG-without-webhooks';

/** Measures what 100 webhooks with filters in one organization cost, if one event in a hundred matches. */
export async function benchFilter(print) {
  const receiver = await startReceiver();
  const server = await startServer();
  try {
    for (let index = 0; index < webhooks; index += 1) {
      const filter = { payload: { outcome: ['success'], index: [index] } };
      await server.createWebhook(`${receiver.url}/ok`, '*', { filter });
    }
    await turn(server, {});
    const costs = [];
    for (let round = 0; round < rounds; round += 1) {
      progress(`round ${round + 1} of ${rounds}`);
      const without = await turn(server, { organization_id: other });
      costs.push(((await turn(server, {})) - without) / webhooks);
    }
    const name = `CPU of both per event and webhook with a filter, ${webhooks} webhooks`;
    print(name, `${median(costs).toFixed(1)} µs`, 'aim: at most 20');
    print(
      'lowest and highest round',
      `${Math.min(...costs).toFixed(1)} ${Math.max(...costs).toFixed(1)} µs`,
      '',
    );
  } finally {
    await server.stop();
    receiver.stop();
  }
}

/** Records events of which one in a hundred passes one of the filters. Returns the CPU per event in microseconds. */
async function turn(server, fields) {
  const eventOf = (index) => {
    const event = makeEvent(fields);
    return { ...event, payload: { ...event.payload, index: index % 100 === 0 ? index % webhooks : -1 } };
  };
  const bodies = Array.from({ length: perRound / batch }, () =>
    JSON.stringify(Array.from({ length: batch }, (_, index) => eventOf(index))),
  );
  const before = await server.cpuMs();
  await spread(bodies.length, 8, (number) => server.record(bodies[number - 1]));
  await settled(server.database);
  const after = await server.cpuMs();
  return ((after.server + after.database - before.server - before.database) * 1000) / perRound;
}
