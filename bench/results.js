import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostMachine } from './machine.js';

const folder = new URL('./results/', import.meta.url);

/** Saves what a benchmark printed, and its figures if it returned any. */
export function saveResult(name, { seconds, loadBefore, lines, figures }) {
  mkdirSync(folder, { recursive: true });
  const commit = spawnSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).stdout?.trim();
  const at = new Date().toISOString();
  const result = {
    at,
    commit,
    machine: hostMachine(),
    seconds: Math.round(seconds),
    loadBefore,
    lines,
    figures,
  };
  writeFileSync(new URL(`${name}.json`, folder), `${JSON.stringify(result, null, 2)}\n`);
}

/** Returns the saved results, by the name of their benchmark. */
export function savedResults() {
  mkdirSync(folder, { recursive: true });
  const names = readdirSync(folder).filter((file) => file.endsWith('.json'));
  return Object.fromEntries(
    names.map((file) => [file.slice(0, -5), JSON.parse(readFileSync(new URL(file, folder), 'utf8'))]),
  );
}

/** Returns a line of figures as the terminal shows it. */
export const lineOf = ([what, figure, aim]) =>
  `  ${what.padEnd(56)}${String(figure).padStart(18)}   ${aim}`.trimEnd();
