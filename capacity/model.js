// The capacity model: arithmetic without I/O. Unit costs are measured (see measure.js), and the model is linear: an
// event and a delivery each have a cost, each kB of payload adds to both, and each request that records events has a
// cost, too.

/** The terms of a unit cost: functions that return how many units of each term one event with these properties has. */
export const terms = {
  event: () => 1,
  eventKb: ({ payloadKb }) => payloadKb,
  delivery: ({ fanOut }) => fanOut,
  deliveryKb: ({ fanOut, payloadKb }) => fanOut * payloadKb,
  request: ({ perRequest }) => 1 / perRequest,
};

/** Returns what one event costs, its deliveries included, in the unit of the costs. */
export function costOf(costs, properties) {
  return Object.entries(costs).reduce((sum, [term, cost]) => sum + cost * terms[term](properties), 0);
}

const secondsPerDay = 86_400;

/**
 * Returns what a load needs. `load` has eventsPerSecond, fanOut, payloadKb, perRequest and retentionDays; `limits` has
 * busy (the share of a core that is planned for), nodeCores, nodesMin, and what one cell's database has: databaseCores,
 * walMbPerSecond and diskGb.
 */
export function plan(load, limits, { costs, idle }) {
  const { eventsPerSecond, retentionDays } = load;
  const perSecond = (figure) => eventsPerSecond * costOf(costs[figure], load);
  const databaseBusy = perSecond('databaseUs') / 1e6;
  const walMbPerSecond = perSecond('walBytes') / 1e6;
  const gbPerDay = (perSecond('storedBytes') * secondsPerDay) / 1e9;
  const gbStored = gbPerDay * retentionDays;
  const needs = {
    'database CPU': (databaseBusy + idle.databaseCores) / limits.busy / limits.databaseCores,
    WAL: walMbPerSecond / limits.walMbPerSecond,
    disk: gbStored / limits.diskGb,
  };
  const [limitedBy, fullest] = Object.entries(needs).reduce((most, next) =>
    next[1] > most[1] ? next : most,
  );
  const cells = Math.max(1, Math.ceil(fullest));
  const serverBusy = perSecond('serverUs') / 1e6;
  const nodes = Math.max(cells * limits.nodesMin, Math.ceil(serverBusy / limits.busy / limits.nodeCores));
  return {
    deliveriesPerSecond: eventsPerSecond * load.fanOut,
    serverCores: (serverBusy + nodes * idle.serverCores) / limits.busy,
    databaseCores: (databaseBusy + cells * idle.databaseCores) / limits.busy,
    nodes,
    cells,
    limitedBy,
    rowsPerSecond: perSecond('rows'),
    walMbPerSecond,
    gbPerDay,
    gbStored,
  };
}

/**
 * Fits unit costs to measurements by least squares, so that the relative error is smallest. Each measurement has
 * `properties` of its events and a `cost`. Returns the cost of each term that is named; none is negative.
 */
export function fitCosts(measurements, names) {
  const rows = measurements.map(({ properties, cost }) => ({
    values: names.map((name) => terms[name](properties) / cost),
    aim: 1,
  }));
  const matrix = names.map((_, i) => [
    ...names.map((__, j) => rows.reduce((sum, { values }) => sum + values[i] * values[j], 0)),
    rows.reduce((sum, { values, aim }) => sum + values[i] * aim, 0),
  ]);
  const solution = solve(matrix);
  const negative = names.filter((_, index) => solution[index] < 0);
  if (negative.length === 0) return Object.fromEntries(names.map((name, index) => [name, solution[index]]));
  // A negative cost is noise: without that term, the others explain the measurements.
  const kept = names.filter((name) => !negative.includes(name));
  return { ...Object.fromEntries(negative.map((name) => [name, 0])), ...fitCosts(measurements, kept) };
}

/** Returns the largest relative error of a fit. */
export function worstError(measurements, costs) {
  return Math.max(
    ...measurements.map(({ properties, cost }) => Math.abs(costOf(costs, properties) / cost - 1)),
  );
}

/** Solves linear equations, given as rows with the right side last, by elimination with pivots. */
function solve(matrix) {
  const rows = matrix.map((row) => [...row]);
  for (let column = 0; column < rows.length; column += 1) {
    const size = (row) => Math.abs(rows[row][column]);
    let pivot = column;
    for (let row = column + 1; row < rows.length; row += 1) if (size(row) > size(pivot)) pivot = row;
    [rows[column], rows[pivot]] = [rows[pivot], rows[column]];
    for (let row = 0; row < rows.length; row += 1) {
      if (row === column) continue;
      const factor = rows[row][column] / rows[column][column];
      rows[row] = rows[row].map((value, index) => value - factor * rows[column][index]);
    }
  }
  return rows.map((row, index) => row.at(-1) / row[index]);
}
