// npm run bench:console [-- --waterfall]
// Measures how long a browser that has never seen the console takes to show the overview of a busy organization.
import { createServer } from 'node:http';
import { chromium } from 'playwright-core';
import { median } from '../../../bench/figures.js';
import { clearProgress, progress } from '../../../bench/progress.js';
import { startServer } from '../../../bench/server.js';
import { makeBusyOrganization } from './busy-organization.js';

const runs = 15;
/** The first visits also compress the files and warm up the server. */
const warmUps = 2;
const aimMs = 1_000;

/** Notes in the page when the heading, the figures and the chart are there, without asking the page from outside. */
function noteMarks() {
  const marks = {
    heading: () => /webhooks? needs? attention|healthy/.test(document.querySelector('h1')?.textContent ?? ''),
    figures: () => document.querySelectorAll('a.figure b').length > 0,
    chart: () => document.querySelector('.plot-area') !== null,
    complete: () =>
      document.querySelector('.plot-area') !== null &&
      document.querySelector('.bones') === null &&
      [...document.querySelectorAll('.problem:has(.tag)')].every((problem) =>
        /responded|failed with/.test(problem.textContent),
      ),
  };
  window.marks = {};
  const look = () => {
    for (const [name, isThere] of Object.entries(marks)) {
      if (!(name in window.marks) && isThere()) window.marks[name] = performance.now();
    }
    if (!('complete' in window.marks)) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

async function visit(browser, server) {
  // A context of its own has an empty cache.
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
  try {
    const page = await context.newPage();
    await page.addInitScript(noteMarks);
    const before = await server.cpuMs();
    await page.goto(`${server.api}/console#token=${server.token}`);
    const deadline = performance.now() + 30_000;
    let seen;
    do {
      await new Promise((waited) => setTimeout(waited, 50));
      seen = await page.evaluate(() => ({
        marks: window.marks,
        requests: performance
          .getEntriesByType('resource')
          .map(({ name, startTime, responseStart, responseEnd, transferSize }) => ({
            path: name.slice(location.origin.length),
            ...{ startTime, responseStart, responseEnd, transferSize },
          })),
      }));
    } while (!('complete' in seen.marks) && performance.now() < deadline);
    const after = await server.cpuMs();
    const cpu = { server: after.server - before.server, database: after.database - before.database };
    return { ...seen, cpu };
  } finally {
    await context.close();
  }
}

function print(what, figure, aim = '') {
  clearProgress();
  console.log(`  ${what.padEnd(56)}${String(figure).padStart(18)}   ${aim}`);
}

function printWaterfall({ requests, marks }) {
  for (const { path, startTime, responseStart, responseEnd } of requests) {
    const times = [startTime, responseStart, responseEnd]
      .map((ms) => String(Math.round(ms)).padStart(6))
      .join('');
    console.log(`  ${times}  ${path.slice(0, 90)}`);
  }
  console.log(`  ${JSON.stringify(marks)}`);
}

// An ended bench leaves no server behind: the server stops when this process exits.
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit(1));

const receiver = createServer((request, response) => request.resume().on('end', () => response.end('ok')));
await new Promise((listening) => receiver.listen(0, '127.0.0.1', listening));
const server = await startServer();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
  handleSIGTERM: false,
  handleSIGINT: false,
});
try {
  const receiverUrl = `http://127.0.0.1:${receiver.address().port}`;
  const { webhooks, deliveries } = await makeBusyOrganization(server, receiverUrl, progress);
  const visits = [];
  for (let run = -warmUps; run < runs; run += 1) {
    progress(`visit ${run + 1} of ${runs}`);
    const seen = await visit(browser, server);
    if (run >= 0) visits.push(seen);
  }
  clearProgress();
  console.log('\nconsole, overview, empty cache');
  print('webhooks', webhooks);
  print('deliveries', deliveries.toLocaleString('en'));
  const at = (name) => Math.round(median(visits.map(({ marks }) => marks[name] ?? Number.POSITIVE_INFINITY)));
  const slowest = Math.round(Math.max(...visits.map(({ marks }) => marks.chart)));
  print('heading with what needs attention, median', `${at('heading')} ms`);
  print('figures, median', `${at('figures')} ms`);
  print('chart: usable, median', `${at('chart')} ms`, `aim: at most ${aimMs} ms`);
  print(`chart, slowest of ${runs}`, `${slowest} ms`);
  print('everything, median', `${at('complete')} ms`);
  const [{ requests }] = visits;
  const isApi = ({ path }) => path.startsWith('/v1/');
  print('requests for files', requests.filter((request) => !isApi(request)).length);
  print('requests to the API', requests.filter(isApi).length);
  print('transferred', `${Math.round(requests.reduce((sum, one) => sum + one.transferSize, 0) / 1000)} kB`);
  print(
    'CPU of the server per visit, median',
    `${Math.round(median(visits.map(({ cpu }) => cpu.server)))} ms`,
  );
  print(
    'CPU of PostgreSQL per visit, median',
    `${Math.round(median(visits.map(({ cpu }) => cpu.database)))} ms`,
  );
  if (process.argv.includes('--waterfall')) printWaterfall(visits.at(-1));
} finally {
  await browser.close();
  await server.stop();
  receiver.close();
}
