import { barChart } from './plot.js';

const count = (value) => Math.round(value).toLocaleString('en');
const formsOf = (figures) => Object.keys(Object.values(figures)[0]).filter((form) => form.includes(' '));

/** The plots of each benchmark: the name of a file, and the function that draws it from the saved results. */
export const plots = {
  deliver: { 'deliver.svg': drawDeliver },
  read: { 'read.svg': drawRead },
  peers: {
    'peers-throughput.svg': drawPeers,
    'peers-cpu.svg': drawPeersCpu,
    'peers-latency.svg': drawPeersLatency,
  },
};

/** Returns the number at the start of a figure, by the name of its line. */
function figureOf(lines, what) {
  const line = lines.find(([name]) => name.trim() === what);
  return line === undefined ? 0 : Number.parseFloat(line[1]);
}

function drawDeliver({ lines }) {
  const bars = [
    ['raw undici to the receiver', 'requests without a store'],
    ['end to end, durable, one webhook', 'end to end, durable'],
  ].map(([what, name]) => {
    const value = figureOf(lines, what);
    return { name, values: [value], label: `${count(value)} per second` };
  });
  return barChart({
    ...{ title: 'End to end against raw requests', note: 'one webhook, batches of 100' },
    ...{ groups: [{ bars }], own: 'end to end, durable' },
  });
}

function drawRead({ lines }) {
  const rows = lines.map(([name, figure]) => [name, figure.trim().split(/\s+/).map(Number)]);
  const bars = rows
    .filter(([, figures]) => figures.length === 5 && figures.every((value) => !Number.isNaN(value)))
    .map(([name, [, p50, p95]]) => ({ name, values: [p50, p95 - p50], label: `${p50} ms, ${p95} ms` }));
  return barChart({
    ...{ title: 'Pages of the event stream', note: 'time of a request, 4 at once', series: ['p50', 'p95'] },
    groups: [{ bars }],
  });
}

function drawPeers({ figures }) {
  const groups = formsOf(figures).map((form) => ({
    name: form,
    bars: Object.entries(figures).map(([name, at]) => ({
      ...{ name, values: [at[form].perSecond], label: `${count(at[form].perSecond)} events/s` },
    })),
  }));
  const note = 'events per second, from the first request to the last arrival';
  return barChart({ title: 'Throughput', note, groups, own: 'Posthorn' });
}

function drawPeersCpu({ figures }) {
  const groups = formsOf(figures).map((form) => ({
    name: form,
    bars: Object.entries(figures).map(([name, at]) => ({
      ...{ name, values: [at[form].serviceUs, at[form].storesUs], label: `${count(at[form].cpuUs)} µs` },
    })),
  }));
  const note = 'lower is better';
  return barChart({ title: 'CPU per event', note, groups, series: ['service', 'PostgreSQL and Redis'] });
}

function drawPeersLatency({ figures }) {
  const groups = [
    ['p50', 'p50Ms'],
    ['p99', 'p99Ms'],
  ].map(([group, figure]) => ({
    name: group,
    bars: Object.entries(figures).map(([name, { latency }]) => ({
      ...{ name, values: [latency[figure]], label: `${latency[figure].toFixed(1)} ms` },
    })),
  }));
  const note = 'from recording to arrival, 200 events per second, lower is better';
  return barChart({ title: 'Latency', note, groups, own: 'Posthorn', isLog: true });
}

/** Draws the cores that every load of the capacity table needs. */
export function drawCapacity(plans) {
  const rates = [...new Set(plans.map(({ load }) => load.eventsPerSecond))];
  const groups = rates.map((rate) => ({
    name: `${count(rate)} events per second`,
    bars: plans
      .filter(({ load }) => load.eventsPerSecond === rate)
      .map(({ load, needs }) => ({
        name: `fan-out ${load.fanOut}`,
        values: [needs.serverCores + needs.databaseCores],
        label: `${needs.serverCores.toFixed(1)} + ${needs.databaseCores.toFixed(1)} cores`,
      })),
  }));
  return barChart({
    title: 'Cores: server and database',
    note: 'half busy, payloads of 1 kB',
    groups,
    isLog: true,
  });
}
