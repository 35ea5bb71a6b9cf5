import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import { startBare } from './bare.js';
import { median, percentile } from './figures.js';
import { loadHistory } from './history.js';
import { makeEvent, organization } from './load.js';
import { isProfiling } from './profile.js';
import { progress } from './progress.js';
import { startServer } from './server.js';

const short = { events: 200_000, weeks: 12 };
const long = { events: 5_000_000, weeks: 12 };
/** The requests take turns in short rounds, so that changes in the speed of the machine affect all of them equally. */
const rounds = 9;
const roundMs = 400;
const connections = 4;
const deepPage = 1_000;
/** How long to wait until what the vacuum has changed is written, so that this does not slow down the first rounds. */
const calmMs = 2_000;
const fillBare = `
  insert into bare.events
  select id, organization_id, created_at,
         json_build_object('id', id, 'type', type, 'organization_id', organization_id, 'workspace_id', workspace_id,
                           'actor', json_build_object('type', actor_type, 'id', actor_id),
                           'subject', json_build_object('type', subject_type, 'id', subject_id),
                           'payload', payload, 'created_at', created_at)
    from posthorn.events`;

/**
 * Measures pages of the event stream: by size, with every filter, in ascending order, and far down. For a profile, reads
 * only pages of 25.
 */
export async function benchRead(print, options) {
  const { events, weeks } = options.long ? long : short;
  const server = await startServer();
  const pool = new Pool(server.api, { connections });
  let bare;
  try {
    const { fromMs, toMs } = await loadHistory(server.database, events, weeks);
    bare = await startBare(server);
    await server.database.query(fillBare);
    await server.database.query('vacuum (analyze) bare.events');
    await wait(calmMs);
    const read = ({ encoding, ...query }) => readPage(pool, server.token, query, encoding);
    const middle = (fromMs + toMs) / 2;
    const requests = {
      'page of 1': { limit: 1 },
      'page of 25': {},
      'page of 100': { limit: 100 },
      'page of 25, gzip': { encoding: 'gzip, deflate' },
      'page of 25, brotli': { encoding: 'gzip, deflate, br' },
      'page of 100, brotli': { limit: 100, encoding: 'gzip, deflate, br' },
      workspace_id: { workspace_id: 'WS-7' },
      type: { type: 'kind.7' },
      subject_type: { subject_type: 'kind_7' },
      subject_id: { subject_id: 'RUN-7' },
      actor_id: { actor_id: 'AGT-7' },
      'time range': { from: iso(middle - 3_600_000), to: iso(middle + 3_600_000) },
      'order asc': { order: 'asc' },
      [`page ${deepPage.toLocaleString('en')}`]: { cursor: await cursorAfter(read, deepPage - 1) },
    };
    // The IDs of the history do not contain their times.
    const [newest] = await server.record([makeEvent()]);
    const calls = Object.fromEntries(
      Object.entries(requests).map(([name, query]) => [name, [server, () => read(query)]]),
    );
    calls['bare reader, page of 25'] = [
      { cpuMs: async () => ({ ...(await server.cpuMs()), server: await bare.cpuMs() }) },
      () => bare.read(organization),
    ];
    calls['one event by ID'] = [server, () => get(pool, server.token, `/v1/events/${newest}`)];
    const figures = await inTurns(isProfiling ? { 'page of 25': calls['page of 25'] } : calls);
    print(
      `${events.toLocaleString('en')} events`,
      'requests/s   p50 ms   p95 ms   server µs   PostgreSQL µs',
      '',
    );
    for (const [name, at] of Object.entries(figures)) print(name, row(at), p95Aim(at));
    if (!isProfiling) summarize(print, figures);
  } finally {
    await bare?.stop();
    await pool.close();
    await server.stop();
  }
}

const iso = (ms) => new Date(ms).toISOString();

async function readPage(pool, token, query, encoding = 'identity') {
  const search = new URLSearchParams({ organization_id: organization, ...query });
  return get(pool, token, `/v1/events?${search}`, encoding);
}

async function get(pool, token, path, encoding = 'identity') {
  const { statusCode, body } = await pool.request({
    path,
    method: 'GET',
    headers: { authorization: `Bearer ${token}`, 'accept-encoding': encoding },
  });
  const bytes = await body.arrayBuffer();
  if (statusCode !== 200) throw new Error(`reading returned ${statusCode}: ${Buffer.from(bytes)}`);
  return bytes;
}

/** Reads this many pages and returns the cursor of the last one. */
async function cursorAfter(read, pages) {
  let cursor;
  for (let page = 1; page <= pages; page += 1) {
    if (page % 100 === 0) progress(`walking to page ${page}`);
    const { meta } = JSON.parse(Buffer.from(await read(cursor === undefined ? {} : { cursor })).toString());
    if (!meta.has_more) throw new Error(`the walk ended on page ${page}`);
    cursor = meta.cursor;
  }
  return cursor;
}

async function inTurns(calls) {
  const names = Object.keys(calls);
  const turns = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = -2; round < rounds; round += 1) {
    progress(`round ${round + 1} of ${rounds}`);
    for (const name of names) {
      const figures = await turn(...calls[name]);
      if (round >= 0) turns[name].push(figures);
    }
  }
  return Object.fromEntries(names.map((name) => [name, together(turns[name])]));
}

async function turn(server, request) {
  const requestsMs = [];
  const before = await server.cpuMs();
  const startedMs = performance.now();
  const work = async () => {
    while (performance.now() - startedMs < roundMs) {
      const sentMs = performance.now();
      await request();
      requestsMs.push(performance.now() - sentMs);
    }
  };
  await Promise.all(Array.from({ length: connections }, work));
  const elapsedMs = performance.now() - startedMs;
  const after = await server.cpuMs();
  const cpu = { server: after.server - before.server, database: after.database - before.database };
  return { requestsMs, elapsedMs, cpu };
}

function together(turns) {
  const requestsMs = turns.flatMap((at) => at.requestsMs);
  const sum = (of) => turns.reduce((total, at) => total + of(at), 0);
  const each = (ms) => (ms * 1000) / requestsMs.length;
  return {
    perSecond: (requestsMs.length * 1000) / sum((at) => at.elapsedMs),
    p50Ms: median(requestsMs),
    p95Ms: percentile(requestsMs, 0.95),
    serverUs: each(sum((at) => at.cpu.server)),
    databaseUs: each(sum((at) => at.cpu.database)),
  };
}

function row({ perSecond, p50Ms, p95Ms, serverUs, databaseUs }) {
  const cells = [
    [Math.round(perSecond), 10],
    [p50Ms.toFixed(2), 9],
    [p95Ms.toFixed(2), 9],
    [Math.round(serverUs), 12],
    [Math.round(databaseUs), 16],
  ];
  return cells.map(([value, width]) => String(value).padStart(width)).join('');
}

const p95Aim = ({ p95Ms }) => (p95Ms > 15 ? 'aim: p95 at most 15 ms' : '');

function summarize(print, figures) {
  const [one, page, hundred] = ['page of 1', 'page of 25', 'page of 100'].map((name) => figures[name]);
  const deep = figures[`page ${deepPage.toLocaleString('en')}`];
  const bare = figures['bare reader, page of 25'];
  const against = (at) => ((at.serverUs + at.databaseUs) / (bare.serverUs + bare.databaseUs)).toFixed(2);
  const us = (value) => `${value.toFixed(1)} µs`;
  print('CPU of the server process for a page of 25', us(page.serverUs), 'aim: at most 350');
  print('  for one event in a page', us((hundred.serverUs - one.serverUs) / 99), '');
  print('  for the rest of the page', us(one.serverUs - (hundred.serverUs - one.serverUs) / 99), '');
  print('CPU of PostgreSQL for a page of 25', us(page.databaseUs), 'aim: at most 200');
  print('  for one event in a page', us((hundred.databaseUs - one.databaseUs) / 99), '');
  print('  for the rest of the page', us(one.databaseUs - (hundred.databaseUs - one.databaseUs) / 99), '');
  print('CPU of both against the bare reader, page of 25', against(page), 'aim: at most 1.8');
  print('  one event by ID', against(figures['one event by ID']), 'aim: at most 1.2');
  print(
    `page ${deepPage.toLocaleString('en')} against page 1, p50`,
    (deep.p50Ms / page.p50Ms).toFixed(2),
    'aim: at most 1.3',
  );
}
