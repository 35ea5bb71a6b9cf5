// npm run faults -- --help
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readOptions } from './options.js';
import { keepResult, printHead, printSum, printTrial, sum } from './report.js';
import { scenarios, scenariosOf } from './scenarios.js';
import { soak } from './soak.js';
import { copyLogs, runTrial } from './trial.js';

const results = fileURLToPath(new URL('./results', import.meta.url));

if (process.platform !== 'linux') {
  console.error('The fault suite needs Linux: it pauses and kills the processes of PostgreSQL one by one.');
  process.exit(2);
}
const startedAt = new Date();
const options = readOptions();
if (options.list) {
  for (const { name, summary } of scenarios) console.log(`${name.padEnd(16)}${summary}`);
  process.exit();
}

if (options.soakMs !== undefined) await runSoak(options);
const plan = planOf(options);
const trials = [];
printHead();
for (const [index, { seed, scenario }] of plan.entries()) {
  if (process.stderr.isTTY) process.stderr.write(`… ${index + 1} of ${plan.length}: ${scenario.summary}\r`);
  const keepLogs = (world) => copyLogs(world, join(results, `${scenario.name}-${seed}`));
  const trial = {
    seed,
    scenario: scenario.name,
    ...(await runTrial(scenario, seed, { ...options, keepLogs })),
  };
  if (process.stderr.isTTY) process.stderr.write('\x1b[K');
  trials.push(trial);
  printTrial(trial);
}
finish(trials);

/** Prints the sums, keeps the run as JSON and ends the process. */
function finish(trials) {
  const sums = sum(trials);
  printSum(sums);
  const file = options.result ?? join(results, `${startedAt.toISOString().replace(/[:.]/g, '-')}.json`);
  keepResult(file, { startedAt, sums, trials });
  console.log(`kept in ${file}`);
  process.exit(sums.broken > 0 ? 1 : 0);
}

async function runSoak({ soakMs, seed = 1 }) {
  const trial = await soak(seed, soakMs, (text) => console.error(`… ${text}`));
  printHead();
  printTrial({ seed, scenario: 'soak', ...trial });
  const { capacity, memory, statuses } = trial;
  console.log(`capacity ${capacity} events/s, load ${Math.round(capacity * 0.7)} events/s`);
  console.log(
    `memory of the node that survives: ${memory.first} MB in the first third, ${memory.last} MB in the last`,
  );
  console.log(`responses: ${JSON.stringify(statuses)}`);
  finish([{ seed, scenario: 'soak', ...trial }]);
}

function planOf({ seeds, seed, scenarios: chosen }) {
  const count = seeds ?? (chosen ? 1 : 20);
  const numbers = seed !== undefined ? [seed] : Array.from({ length: count }, (_, n) => n + 1);
  return numbers.flatMap((number) =>
    (chosen ?? scenariosOf(number)).map((scenario) => ({ seed: number, scenario })),
  );
}
