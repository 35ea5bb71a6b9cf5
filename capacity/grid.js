import { readFileSync, writeFileSync } from 'node:fs';
import { plan } from './model.js';

const file = new URL('./unit-costs.json', import.meta.url);
const rates = [100, 1_000, 10_000, 100_000];
const fanOuts = [1, 3, 10];
/** At least two nodes, because one may be restarting or lost. */
const nodesMin = 2;

export const readUnitCosts = () => JSON.parse(readFileSync(file, 'utf8'));
export const writeUnitCosts = (unit) => writeFileSync(file, `${JSON.stringify(unit, null, 2)}\n`);

/** Plans the given load. If no rate or fan-out is given, plans those of the table. */
export function plansFor(given, unit) {
  const loads = (given.eventsPerSecond === undefined ? rates : [given.eventsPerSecond]).flatMap(
    (eventsPerSecond) =>
      (given.fanOut === undefined ? fanOuts : [given.fanOut]).map((fanOut) => ({
        ...given,
        eventsPerSecond,
        fanOut,
      })),
  );
  return loads.map((load) => ({ load, needs: plan(load, { ...given, nodesMin }, unit) }));
}
