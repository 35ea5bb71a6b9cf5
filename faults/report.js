import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const columns = [
  ['seed', 4],
  ['scenario', 14],
  ['acknowledged', 12],
  ['delivered', 9],
  ['listed', 7],
  ['lost', 4],
  ['in doubt', 8],
  ['duplicates', 10],
  ['MB', 11],
  ['s', 4],
  ['verdict', 7],
];

const isText = (name) => ['scenario', 'verdict'].includes(name);
const cell = (text, name, width) =>
  isText(name) ? String(text).padEnd(width) : String(text).padStart(width);

/** Prints the head of the ledger. */
export function printHead() {
  console.log(columns.map(([name, width]) => cell(name, name, width)).join('  '));
}

/** Memory of the largest node: before the load, at its highest, and at the end. */
const memoryText = (memory) => (memory ? `${memory.start}/${memory.peak}/${memory.end}` : '');

/** Prints one line of the ledger, and what is wrong or missing. */
export function printTrial(trial) {
  const figures = {
    ...trial,
    'in doubt': trial.inDoubt ?? '',
    duplicates: trial.duplicates?.total ?? '',
    MB: memoryText(trial.memoryMb),
    s: trial.tookMs === undefined ? '' : (trial.tookMs / 1_000).toFixed(0),
  };
  console.log(columns.map(([name, width]) => cell(figures[name] ?? '', name, width)).join('  '));
  const explained = Object.entries(trial.duplicates?.by ?? {});
  for (const [kind, count] of explained) console.log(`        ${count} duplicates: ${kind}`);
  if (trial.verdict === 'skipped') console.log(`        skipped: ${trial.reason}`);
  for (const reason of trial.reasons ?? []) console.log(`        ${reason}`);
  if (trial.verdict === 'broken')
    console.log(`        again: npm run faults -- --seed ${trial.seed} --scenario ${trial.scenario}`);
}

/** Adds up the trials. */
export function sum(trials) {
  const total = (read) => trials.reduce((all, trial) => all + (read(trial) ?? 0), 0);
  return {
    trials: trials.length,
    held: trials.filter(({ verdict }) => verdict === 'held').length,
    broken: trials.filter(({ verdict }) => verdict === 'broken').length,
    skipped: trials.filter(({ verdict }) => verdict === 'skipped').length,
    acknowledged: total(({ acknowledged }) => acknowledged),
    delivered: total(({ delivered }) => delivered),
    listed: total(({ listed }) => listed),
    lost: total(({ lost }) => lost),
    inDoubt: total(({ inDoubt }) => inDoubt),
    duplicates: total(({ duplicates }) => duplicates?.total),
    unexplained: total(({ duplicates }) => duplicates?.unexplained),
    memoryMbMax: Math.max(0, ...trials.map(({ memoryMb }) => memoryMb?.peak ?? 0)),
    tookMs: total(({ tookMs }) => tookMs),
  };
}

export function printSum(sums) {
  const { trials, held, broken, skipped, acknowledged, delivered, listed, lost, inDoubt } = sums;
  console.log(`\n${trials} trials: ${held} held, ${broken} broken, ${skipped} skipped`);
  console.log(`acknowledged ${acknowledged}, delivered ${delivered}, listed ${listed}, lost ${lost}`);
  console.log(
    `in doubt ${inDoubt} (recorded, but the producer got no response); ` +
      `duplicates ${sums.duplicates}, of which ${sums.unexplained} without a fault that explains them`,
  );
  console.log(`memory of a node at most ${sums.memoryMbMax} MB; ${Math.ceil(sums.tookMs / 60_000)} minutes`);
}

/** Keeps a run as JSON. */
export function keepResult(file, result) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(result, undefined, 2)}\n`);
}
