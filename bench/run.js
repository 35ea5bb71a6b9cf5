// npm run bench [-- record | deliver | overload | latency | isolate | fanout | large | slow | stall | flaky …]
import { benchDeliver, benchLatency, benchOverload } from './deliver.js';
import { benchIsolation } from './isolate.js';
import { benchFanout, benchFlaky, benchLarge, benchSlow, benchStall } from './pressure.js';
import { benchRecord } from './record.js';

const benches = {
  record: benchRecord,
  deliver: benchDeliver,
  overload: benchOverload,
  latency: benchLatency,
  isolate: benchIsolation,
  fanout: benchFanout,
  large: benchLarge,
  slow: benchSlow,
  stall: benchStall,
  flaky: benchFlaky,
};
const named = process.argv.slice(2);
const unknown = named.find((name) => !(name in benches));
if (unknown) {
  console.error(`There is no bench '${unknown}'; known: ${Object.keys(benches).join(', ')}.`);
  process.exit(2);
}

for (const [name, bench] of Object.entries(benches)) {
  if (named.length > 0 && !named.includes(name)) continue;
  console.log(`\n${name}`);
  await bench((what, figure, aim) =>
    console.log(`  ${what.padEnd(56)}${String(figure).padStart(18)}   ${aim}`),
  );
}
