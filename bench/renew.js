// npm run plots: draws the plots and prints the tables of docs/performance.md from the results that were kept.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { plansFor, readUnitCosts } from '../capacity/grid.js';
import { readOptions } from '../capacity/options.js';
import { assumptions, cellsOf } from '../capacity/report.js';
import { drawCapacity, plots } from './plots.js';
import { lineOf, savedResults } from './results.js';

const page = new URL('../docs/performance.md', import.meta.url);
const images = new URL('../docs/images/performance/', import.meta.url);

let text = readFileSync(page, 'utf8');
mkdirSync(images, { recursive: true });

const results = savedResults();
for (const [, name] of [...text.matchAll(/<!-- bench (\w+): printed by npm run plots -->/g)])
  renew(
    `bench ${name}`,
    results[name] ? shown(name, results[name]) : `*Not measured yet: \`npm run bench -- ${name} --save\`.*`,
  );

const given = readOptions([]);
const unit = readUnitCosts();
const plans = plansFor(given, unit);
const capacityDrawing = drawCapacity(plans);
writeFileSync(new URL('capacity.svg', images), capacityDrawing);
const [header, ...rows] = cellsOf(plans);
const row = (cells) => `| ${cells.join(' | ')} |`;
renew(
  'capacity',
  [
    `![${titleOf(capacityDrawing)}](images/performance/capacity.svg)`,
    [row(header), row(header.map(() => '---:')), ...rows.map(row)].join('\n'),
    ['```', ...assumptions(given, unit), '```'].join('\n'),
  ].join('\n\n'),
);
writeFileSync(page, text);

/** Returns the title of a drawing, for people who cannot see it. */
function titleOf(drawing) {
  return `Bar chart: ${/aria-label="([^"]*)"/.exec(drawing)[1]}`;
}

/** Draws the plots of a bench, and returns its part of the page. */
function shown(name, result) {
  const { at, commit, machine, seconds, loadBefore, lines } = result;
  const drawn = Object.entries(plots[name] ?? {}).map(([file, draw]) => {
    const drawing = draw(result);
    writeFileSync(new URL(file, images), drawing);
    return `![${titleOf(drawing)}](images/performance/${file})`;
  });
  const measured = `${at.slice(0, 10)}, commit \`${commit}\`, ${machine.cores} cores, Node ${machine.node}`;
  // What else the machine was doing shows in every figure.
  const busy = loadBefore === undefined ? '' : `, load average before the run ${loadBefore.toFixed(1)}`;
  return [
    ...drawn,
    ['```', ...lines.map(lineOf), '```'].join('\n'),
    `*${measured}, ${seconds} s${busy}.*`,
  ].join('\n\n');
}

/** Replaces the text between the two comments with this name. */
function renew(name, content) {
  const [start, end] = [`<!-- ${name}: printed by npm run plots -->`, `<!-- end of ${name} -->`];
  const [from, to] = [text.indexOf(start), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`docs/performance.md has no ${start} followed by ${end}`);
  text = `${text.slice(0, from + start.length)}\n\n${content}\n\n${text.slice(to)}`;
}
