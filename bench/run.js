// npm run bench [-- all | record | deliver | … ] [--long] [--save] [--profile]
// --save keeps the results in bench/results, and renews the tables and plots of docs/performance.md with them.
// --profile shows where the CPU time of the server process went.
// POSTHORN_BENCH_ENTRY=<another checkout>/packages/server/bin/posthorn.js measures that one.
// DATABASE_URL=postgres://… measures on that PostgreSQL, which must be on this machine.
import { loadavg } from 'node:os';
import { benchBreadth } from './breadth.js';
import { benchCapacity } from './capacity.js';
import { benchCold } from './cold.js';
import { benchDeliver, benchLatency, benchOverload } from './deliver.js';
import { benchFilter } from './filter.js';
import { benchFlood } from './flood.js';
import { benchNodes, benchProcesses } from './growth.js';
import { benchIndexes } from './indexes.js';
import { benchIsolation } from './isolate.js';
import { benchMove } from './move.js';
import { benchPeers } from './peers.js';
import { benchFanout, benchFlaky, benchLarge } from './pressure.js';
import { printProfile } from './profile.js';
import { clearProgress } from './progress.js';
import { benchRead } from './read.js';
import { benchRecord } from './record.js';
import { lineOf, saveResult } from './results.js';
import { benchSingle } from './single.js';
import { benchSlow, benchStall } from './slow.js';

const benches = {
  record: benchRecord,
  deliver: benchDeliver,
  single: benchSingle,
  breadth: benchBreadth,
  overload: benchOverload,
  latency: benchLatency,
  cold: benchCold,
  isolate: benchIsolation,
  flood: benchFlood,
  filter: benchFilter,
  fanout: benchFanout,
  large: benchLarge,
  slow: benchSlow,
  stall: benchStall,
  flaky: benchFlaky,
  read: benchRead,
  indexes: benchIndexes,
  processes: benchProcesses,
  nodes: benchNodes,
  move: benchMove,
  peers: benchPeers,
  capacity: benchCapacity,
};
const given = process.argv.slice(2);
const [long, save] = ['--long', '--save'].map((option) => given.includes(option));
const named = given.filter((name) => !['all', '--long', '--save', '--profile'].includes(name));
const unknown = named.find((name) => !(name in benches));
if (unknown) {
  console.error(
    `There is no benchmark '${unknown}'. Known benchmarks: all, ${Object.keys(benches).join(', ')}.`,
  );
  process.exit(2);
}

// Exits, so that a benchmark that is interrupted leaves no server behind: everything that it started ends when this
// process exits.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

for (const [name, bench] of Object.entries(benches)) {
  if (named.length > 0 && !named.includes(name)) continue;
  console.log(`\n${name}`);
  const lines = [];
  const startedMs = performance.now();
  const [loadBefore] = loadavg();
  const figures = await bench(
    (...line) => {
      clearProgress();
      lines.push(line);
      console.log(lineOf(line));
    },
    { long, save },
  );
  printProfile();
  const seconds = (performance.now() - startedMs) / 1000;
  if (save && figures !== null) saveResult(name, { seconds, loadBefore, lines, figures });
}
if (save) await import('./renew.js');
