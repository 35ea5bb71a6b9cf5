// npm run bench [-- record | deliver | … ] [--long]
// POSTHORN_BENCH_ENTRY=<another checkout>/packages/server/bin/posthorn.js measures that one.
import { benchBreadth } from './breadth.js';
import { benchDeliver, benchLatency, benchOverload } from './deliver.js';
import { benchIndexes } from './indexes.js';
import { benchIsolation } from './isolate.js';
import { benchFanout, benchFlaky, benchLarge } from './pressure.js';
import { clearProgress } from './progress.js';
import { benchRead } from './read.js';
import { benchRecord } from './record.js';
import { benchSingle } from './single.js';
import { benchSlow, benchStall } from './slow.js';

const benches = {
  record: benchRecord,
  deliver: benchDeliver,
  single: benchSingle,
  breadth: benchBreadth,
  overload: benchOverload,
  latency: benchLatency,
  isolate: benchIsolation,
  fanout: benchFanout,
  large: benchLarge,
  slow: benchSlow,
  stall: benchStall,
  flaky: benchFlaky,
  read: benchRead,
  indexes: benchIndexes,
};
const given = process.argv.slice(2);
const long = given.includes('--long');
const named = given.filter((name) => name !== '--long');
const unknown = named.find((name) => !(name in benches));
if (unknown) {
  console.error(`There is no bench '${unknown}'; known: ${Object.keys(benches).join(', ')}.`);
  process.exit(2);
}

for (const [name, bench] of Object.entries(benches)) {
  if (named.length > 0 && !named.includes(name)) continue;
  console.log(`\n${name}`);
  await bench(
    (what, figure, aim) => {
      clearProgress();
      console.log(`  ${what.padEnd(56)}${String(figure).padStart(18)}   ${aim}`);
    },
    { long },
  );
}
