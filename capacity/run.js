// npm run capacity [-- --events 5000 --fan-out 3 --payload 1kB]
// npm run capacity -- --measure
import { plansFor, readUnitCosts, writeUnitCosts } from './grid.js';
import { readOptions } from './options.js';
import { assumptions, help, tableOf } from './report.js';

const given = readOptions(process.argv.slice(2));
if (given.problem) {
  console.error(given.problem);
  process.exit(2);
}
if (given.help) {
  console.log(help());
  process.exit(0);
}
if (given.measure) {
  const { measureUnitCosts } = await import('./measure.js');
  writeUnitCosts(await measureUnitCosts());
}
const unit = readUnitCosts();
console.log(`\n${tableOf(plansFor(given, unit))}\n`);
for (const line of assumptions(given, unit)) console.log(`  ${line}`);
