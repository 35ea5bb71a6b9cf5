// The least that a service like Posthorn can do, in its own process: a reference for latency and for reads. It accepts
// an event, inserts it and its delivery in one statement, responds after the commit, and sends the event signed to the
// receiver. It reads pages of events from one table with one index. It looks up no webhooks, checks no tokens, payloads
// or addresses, retries nothing and stores no outcomes.
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { Pool } from 'undici';
import { cpuMsOfProcess } from './cpu.js';
import { Sender } from './peers/sender.js';

const tables = `
  create schema bare;
  create table bare.events (id text not null, organization_id text not null, created_at timestamptz(3) not null, event json not null);
  create index on bare.events (organization_id, created_at, id);
  create table bare.deliveries (id text primary key, event_id text not null, created_at timestamptz(3) not null, status text not null)`;
const insert = `
  with event as (insert into bare.events values ($1, $2, $3, $4))
  insert into bare.deliveries values ($5, $1, $3, 'pending')`;
const page = `
  select id, created_at, event::text from bare.events where organization_id = $1
   order by created_at desc, id desc limit 25`;

/** Starts the service on the database of a Posthorn. */
export async function startBare({ database, databaseUrl }, receiverUrl) {
  await database.query(tables);
  const child = fork(fileURLToPath(import.meta.url), [JSON.stringify({ databaseUrl, receiverUrl })]);
  child.once('exit', (code) => {
    if (code) throw new Error(`the bare service ended with exit code ${code}`);
  });
  const [{ port }] = await once(child, 'message');
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 64 });
  const request = async (method, path, body) => {
    const response = await pool.request({ method, path, body });
    const bytes = await response.body.arrayBuffer();
    if (response.statusCode !== 200) throw new Error(`the bare service returned ${response.statusCode}`);
    return bytes;
  };
  return {
    record: (events) => request('POST', '/events', JSON.stringify(events)),
    read: (organization) => request('GET', `/events?organization_id=${organization}`),
    cpuMs: () => cpuMsOfProcess(child.pid),
    async stop() {
      await pool.close();
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

function serve({ databaseUrl, receiverUrl }) {
  const database = new pg.Pool({ connectionString: databaseUrl, max: 10 });
  const sender = receiverUrl && new Sender(receiverUrl, { 'agent.run.completed': '/timed' });
  const record = async (request) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const [given] = JSON.parse(Buffer.concat(chunks).toString());
    const event = { id: `EVT-${randomUUID()}`, ...given, created_at: new Date().toISOString() };
    const values = [event.id, event.organization_id, event.created_at, JSON.stringify(event)];
    await database.query({ name: 'insert', text: insert, values: [...values, `WDLV-${event.id.slice(4)}`] });
    sender.attempt(event, 1);
    return { data: [{ id: event.id }] };
  };
  const read = async (organization) => {
    const { rows } = await database.query({ name: 'page', text: page, values: [organization] });
    return `{"data":[${rows.map((row) => row.event).join()}]}`;
  };
  const server = createServer(async (request, response) => {
    const result =
      request.method === 'POST'
        ? JSON.stringify(await record(request))
        : await read(new URL(request.url, 'http://bare').searchParams.get('organization_id'));
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(result),
    });
    response.end(result);
  });
  server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
  // The process that started this one has ended, or wants it to end.
  process.on('disconnect', () => process.exit());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) serve(JSON.parse(process.argv[2]));
