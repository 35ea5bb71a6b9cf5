import { median } from './figures.js';
import { makeEvent, spread } from './load.js';
import { progress } from './progress.js';
import { startReceiver } from './receivers.js';
import { startServer } from './server.js';
import { settled, written } from './store.js';

const webhooks = 1_200;
/** The forms take turns in short rounds, so that changes in the speed of the machine affect all of them equally. */
const rounds = 7;
const perRound = 12_000;
const warmUps = 1;
const countedRounds = 3;
const batch = 100;
const producers = 8;

/** By the name of each form: a function that returns the organization and workspace of the event with this number. */
const forms = {
  'one busy webhook': () => ({ organization_id: 'ORG-busy', workspace_id: 'WS-0' }),
  '12 organizations with 100 webhooks each': (number) => ({
    organization_id: `ORG-broad-${number % 12}`,
    workspace_id: `WS-${Math.floor(number / 12) % 100}`,
  }),
  '1,200 organizations with one webhook each': (number) => ({
    organization_id: `ORG-single-${number % webhooks}`,
    workspace_id: 'WS-0',
  }),
};
const [busy] = Object.keys(forms);

/** Compares many webhooks that have little to do with one that has everything to do. */
export async function benchBreadth(print) {
  const receiver = await startReceiver();
  const server = await startServer();
  try {
    await createWebhooks(server, `${receiver.url}/ok`);
    const turns = Object.fromEntries(Object.keys(forms).map((name) => [name, []]));
    for (let round = -warmUps; round < rounds; round += 1) {
      for (const name of Object.keys(forms)) {
        progress(`round ${round + 1} of ${rounds}: ${name}`);
        const figures = await turn(server, receiver, name);
        if (round >= 0) turns[name].push(figures);
      }
    }
    const counts = {};
    for (const name of Object.keys(forms)) counts[name] = await count(server, receiver, name);
    for (const name of Object.keys(forms)) {
      const middle = (read) => median(turns[name].map(read));
      print(name, `${Math.round(middle(({ perSecond }) => perSecond))} events/s`, '');
      print('  CPU of the server process per event', `${Math.round(middle((at) => at.serverUs))} µs`, '');
      print('  CPU of PostgreSQL per event', `${Math.round(middle((at) => at.databaseUs))} µs`, '');
      print('  rows written per event', counts[name].rows.toFixed(3), 'aim: at most 3');
      print('  commits per event', counts[name].commits.toFixed(4), 'aim: at most 0.05');
      if (name === busy) continue;
      const ratios = turns[name].map(({ perSecond }, round) => perSecond / turns[busy][round].perSecond);
      print('  ratio to one busy webhook', median(ratios).toFixed(2), 'aim: at least 0.85');
    }
    print('memory of the server process, peak', `${await server.memoryMb()} MB`, 'aim: at most 250');
  } finally {
    await server.stop();
    receiver.stop();
  }
}

/** Creates one webhook for each organization and workspace that a form returns. */
async function createWebhooks(server, url) {
  const scopes = new Map();
  for (const form of Object.values(forms))
    for (let number = 0; number < webhooks; number += 1) {
      const scope = form(number);
      scopes.set(`${scope.organization_id} ${scope.workspace_id}`, scope);
    }
  const wanted = [...scopes.values()];
  await server.openOrganizations([...new Set(wanted.map(({ organization_id }) => organization_id))]);
  let created = 0;
  await spread(wanted.length, 8, async (number) => {
    await server.createWebhook(url, '*', wanted[number - 1]);
    created += 1;
    if (created % 100 === 0) progress(`${created} of ${wanted.length} webhooks`);
  });
}

let next = 0;

async function turn(server, receiver, name) {
  const bodies = Array.from({ length: perRound / batch }, () =>
    JSON.stringify(Array.from({ length: batch }, () => makeEvent(forms[name](next++)))),
  );
  const { arrived } = await receiver.expect(perRound);
  const before = await server.cpuMs();
  const startedMs = performance.now();
  await spread(bodies.length, producers, (number) => server.record(bodies[number - 1]));
  await arrived;
  const perSecond = (perRound * 1000) / (performance.now() - startedMs);
  // What is written after the last arrival belongs to this form too.
  await settled(server.database);
  const after = await server.cpuMs();
  const each = (name) => ((after[name] - before[name]) * 1000) / perRound;
  return { perSecond, serverUs: each('server'), databaseUs: each('database') };
}

/** Counts rows and commits, in rounds of this form alone: PostgreSQL publishes them seconds later. */
async function count(server, receiver, name) {
  progress(`rows and commits: ${name}`);
  const before = await written(server.database);
  for (let round = 0; round < countedRounds; round += 1) await turn(server, receiver, name);
  const after = await written(server.database);
  const each = (figure) => (after[figure] - before[figure]) / (countedRounds * perRound);
  return { rows: each('rows'), commits: each('commits') };
}
