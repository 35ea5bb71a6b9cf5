// Shows where the CPU time of server processes went: `npm run bench -- single --profile`.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const isProfiling = process.argv.includes('--profile');
const folder = isProfiling ? mkdtempSync(join(tmpdir(), 'posthorn-profile-')) : undefined;
/** What Node needs to profile a server process, if the command asks for it. */
export const profiling = folder ? ['--cpu-prof', `--cpu-prof-dir=${folder}`] : [];
/** A process starts and fills its caches in this time, which the profile leaves out. */
const startUs = 5_000_000;
const shown = { package: 30, module: 40, function: 60 };

/** Prints the CPU time that the profiled processes used since the last call, by package, module and function. */
export function printProfile() {
  if (!folder) return;
  const totals = { package: new Map(), module: new Map(), function: new Map() };
  let busyUs = 0;
  for (const file of readdirSync(folder)) {
    for (const [place, us] of placesOf(JSON.parse(readFileSync(join(folder, file), 'utf8')))) {
      busyUs += us;
      for (const [kind, total] of Object.entries(totals)) {
        const name = place[kind];
        total.set(name, (total.get(name) ?? 0) + us);
      }
    }
    rmSync(join(folder, file));
  }
  for (const [kind, total] of Object.entries(totals)) {
    console.log(`\n  CPU of the server process by ${kind}, without what it calls`);
    const largest = [...total].sort(([, one], [, other]) => other - one).slice(0, shown[kind]);
    for (const [name, us] of largest) {
      const [ms, percent] = [(us / 1000).toFixed(0), ((us / busyUs) * 100).toFixed(1)];
      console.log(`  ${ms.padStart(8)} ms ${percent.padStart(5)} %  ${name}`);
    }
  }
}

/** Returns the time of each node of a profile, with its place. Native functions belong to the module that calls them. */
function placesOf({ nodes, samples, timeDeltas }) {
  const places = new Map();
  const children = new Map(nodes.map(({ id, children }) => [id, children ?? []]));
  const calls = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const open = [[nodes[0].id, '(node)']];
  for (const [id, caller] of open) {
    const { functionName, url } = calls.get(id);
    const module = url ? moduleOf(url) : functionName.startsWith('(') ? functionName : caller;
    const name = `${functionName || '(anonymous)'}${url ? '' : ' (native)'}`;
    places.set(id, { package: packageOf(module), module, function: `${name}  ${module}` });
    for (const child of children.get(id)) open.push([child, module]);
  }
  const times = new Map();
  let atUs = 0;
  for (const [number, id] of samples.entries()) {
    atUs += timeDeltas[number];
    if (atUs < startUs || calls.get(id).functionName === '(idle)') continue;
    times.set(id, (times.get(id) ?? 0) + (timeDeltas[number + 1] ?? 0));
  }
  return [...times].map(([id, us]) => [places.get(id), us]);
}

const moduleOf = (url) =>
  url.replace(/^.*\/(?:node_modules|packages)\//, '').replace(/^(\w+)\/dist\//, '$1: ');

/** Returns the npm package of a module, its room in the server, or the part of Node that it belongs to. */
const packageOf = (module) => /^(?:@[^/]+\/[^/]+|\w+: [^/]+|node:internal\/[^/]+|[^/]+)/.exec(module)[0];
