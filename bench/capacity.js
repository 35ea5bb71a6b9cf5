import { writeUnitCosts } from '../capacity/grid.js';
import { measureUnitCosts } from '../capacity/measure.js';

const units = { serverUs: 'µs', databaseUs: 'µs', rows: 'rows', walBytes: 'bytes', storedBytes: 'bytes' };
const names = {
  serverUs: 'CPU of the server process',
  databaseUs: 'CPU of PostgreSQL',
  rows: 'rows written',
  walBytes: 'write-ahead log',
  storedBytes: 'disk, indexes included',
};

/** Measures the unit costs that `npm run capacity` uses. With `--save`, stores them. */
export async function benchCapacity(print, { save }) {
  const unit = await measureUnitCosts();
  for (const [figure, { event, eventKb, delivery, deliveryKb, request }] of Object.entries(unit.costs)) {
    const shown = (value) => (figure === 'rows' ? value.toFixed(2) : value.toFixed(0));
    print(names[figure], units[figure], `the model is within ${Math.round(unit.worst[figure] * 100)}%`);
    print('  per event, and per kB of its payload', `${shown(event)} ${shown(eventKb)}`, '');
    print('  for a delivery, and for each kB of its payload', `${shown(delivery)} ${shown(deliveryKb)}`, '');
    print('  per recording request', shown(request), '');
  }
  if (save) writeUnitCosts(unit);
}
