// npm run faults -- --help
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readOptions } from './options.js';
import { keepResult, printHead, printSum, printTrial, sum } from './report.js';
import { scenarios, scenariosOf } from './scenarios.js';
import { copyLogs, runTrial } from './trial.js';

const results = fileURLToPath(new URL('./results', import.meta.url));

if (process.platform !== 'linux') {
  console.error('The fault suite needs Linux: it pauses and kills the processes of PostgreSQL one by one.');
  process.exit(2);
}
const options = readOptions();
if (options.list) {
  for (const { name, summary } of scenarios) console.log(`${name.padEnd(16)}${summary}`);
  process.exit();
}

const plan = planOf(options);
const startedAt = new Date();
const file = options.result ?? join(results, `${startedAt.toISOString().replace(/[:.]/g, '-')}.json`);
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
const sums = sum(trials);
printSum(sums);
keepResult(file, { startedAt, sums, trials });
console.log(`kept in ${file}`);
process.exit(sums.broken > 0 ? 1 : 0);

function planOf({ seeds = 20, seed, scenarios: chosen }) {
  const numbers = seed !== undefined ? [seed] : chosen ? [1] : Array.from({ length: seeds }, (_, n) => n + 1);
  return numbers.flatMap((number) =>
    (chosen ?? scenariosOf(number)).map((scenario) => ({ seed: number, scenario })),
  );
}
