// node deploy/keep-version.js VERSION: fills a new database by using this version of Posthorn, and keeps it in
// packages/server/test/fixtures/versions, so that a test proves of every later version that it can upgrade it. Part of
// `npm run release`. Needs Debian's PostgreSQL 15 (postgresql-15), whose dumps every later PostgreSQL can read.
// POSTHORN_BENCH_ENTRY names the executable of another checkout.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import pg from 'pg';

const [version = ''] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error('Usage: node deploy/keep-version.js VERSION');
const root = fileURLToPath(new URL('..', import.meta.url));
const entry = process.env.POSTHORN_BENCH_ENTRY ?? join(root, 'packages/server/bin/posthorn.js');
const target = join(root, 'packages/server/test/fixtures/versions');
const programs = '/usr/lib/postgresql/15/bin';
const place = mkdtempSync(join(tmpdir(), 'posthorn-version-'));
chmodSync(place, 0o777);
// PostgreSQL refuses to run as root.
const asUser = process.getuid() === 0 ? ['runuser', '-u', 'postgres', '--'] : ['env'];
const postgres = (name, ...args) =>
  execFileSync(asUser[0], [...asUser.slice(1), join(programs, name), ...args], {
    cwd: place,
    maxBuffer: 2 ** 28,
  });

const data = join(place, 'data');
postgres('initdb', '-D', data, '-U', 'posthorn', '-A', 'trust', '--no-sync', '-E', 'UTF8');
const options = `-c listen_addresses= -c unix_socket_directories=${place} -c fsync=off`;
postgres('pg_ctl', 'start', '-w', '-D', data, '-l', join(place, 'log'), '-o', options);
try {
  const DATABASE_URL = `postgres://posthorn@/postgres?host=${encodeURIComponent(place)}`;
  const kept = await fill(DATABASE_URL);
  // psql's own commands, which other clients do not understand.
  const sql = postgres(
    'pg_dump',
    '-h',
    place,
    '-U',
    'posthorn',
    '--inserts',
    '--no-owner',
    '--schema=posthorn',
    'postgres',
  )
    .toString()
    .replaceAll(/^\\.*\n/gm, '');
  mkdirSync(target, { recursive: true });
  const file = join(target, `${version}.json.gz`);
  writeFileSync(file, gzipSync(JSON.stringify({ ...kept, sql }), { level: 9 }));
  console.log(`Kept ${file}`);
} finally {
  postgres('pg_ctl', 'stop', '-m', 'immediate', '-D', data);
  rmSync(place, { recursive: true, force: true });
}

/** Uses the service until its database has something of everything that an upgrade must not lose. */
async function fill(DATABASE_URL) {
  const secretKey = randomBytes(32).toString('base64');
  const platformToken = randomBytes(24).toString('hex');
  const [publicPort, platformPort] = [await freePort(), await freePort()];
  const env = {
    ...process.env,
    DATABASE_URL,
    POSTHORN_SECRET_KEY: secretKey,
    POSTHORN_PLATFORM_TOKEN: platformToken,
  };
  Object.assign(env, { POSTHORN_PORT: publicPort, POSTHORN_PLATFORM_PORT: platformPort });
  Object.assign(env, {
    POSTHORN_EGRESS_ALLOW: '127.0.0.0/8',
    POSTHORN_RETRY_SCHEDULE: '12h',
    POSTHORN_LOG_LEVEL: 'warn',
  });
  const service = spawn(process.execPath, [entry, 'serve'], { env, stdio: ['ignore', 'inherit', 'inherit'] });
  const ended = once(service, 'close');
  let status = 200;
  const receiver = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(status).end());
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  try {
    for (let isReady = false; !isReady; ) {
      isReady = await fetch(`http://127.0.0.1:${publicPort}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    }
    const organization_id = 'ORG-kept';
    const actor = { type: 'user', id: 'USR-ada' };
    const platform = (path, body) => call(`http://127.0.0.1:${platformPort}${path}`, platformToken, body);
    const { data: token } = await platform('/platform/tokens', {
      ...{ organization_id, actor, expires: '36500d' },
      scopes: ['events:read', 'webhooks:read', 'webhooks:write', 'audit:read'],
    });
    const api = (path, body) => call(`http://127.0.0.1:${publicPort}${path}`, token.token, body);
    const secret = 'a-secret-of-an-earlier-version';
    const headers = { authorization: 'Bearer of-an-earlier-version' };
    const url = `http://127.0.0.1:${receiver.address().port}/webhooks`;
    const { data: webhook } = await api('/v1/webhooks', {
      ...{ organization_id, url, event_types: ['*'], secret, headers, description: 'kept' },
    });
    const event = (number) => ({
      ...{ type: 'invoice.paid', organization_id, actor, idempotency_key: `kept-${number}` },
      ...{
        subject: { type: 'invoice', id: `INV-${number}` },
        payload: { id: `INV-${number}`, amount_minor: 1.5e3 },
      },
    });
    const { data: delivered } = await platform('/platform/events', [event(1), event(2), event(3)]);
    const listed = `/v1/webhooks/${webhook.id}/deliveries`;
    while ((await api(listed)).data.filter((one) => one.status === 'success').length < 3);
    const { data: line } = await platform('/platform/service-lines', {
      organization_id,
      actor,
      name: 'Kept',
    });
    await platform(`/platform/service-lines/${line.id}/activate`, { actor });
    while ((await api(listed)).data.length < 4);
    // This one waits for its next attempt until the upgrade has happened.
    status = 500;
    const { data: waiting } = await platform('/platform/events', event(4));
    while ((await api(`${listed}?status=failed`)).data.length === 0);
    service.kill('SIGTERM');
    await ended;
    const client = new pg.Client({ connectionString: DATABASE_URL });
    await client.connect();
    const { rows } = await client.query('select count(*)::int as entries from posthorn.audit_log');
    await client.end();
    return {
      ...{ version, secretKey, organization_id, token: token.token, secret, headers },
      ...{ webhook: webhook.id, delivered: delivered.map(({ id }) => id), waiting: waiting[0].id },
      ...{ serviceLine: line.id, entries: rows[0].entries },
    };
  } finally {
    service.kill('SIGKILL');
    receiver.closeAllConnections();
    receiver.close();
  }
}

async function call(url, token, body) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await fetch(url, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
  return JSON.parse(text);
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}
