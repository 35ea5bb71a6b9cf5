// npm run ways: from nothing to the first delivered event, from a checkout and from the packages, timed. The image has its
// own command (npm run image), which prints the same.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deliverFirstEvent } from './first-event.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const place = mkdtempSync(join(tmpdir(), 'posthorn-ways-'));
const run = (directory, program, ...args) =>
  execFileSync(program, args, { cwd: directory, stdio: ['ignore', 'ignore', 'inherit'] });

try {
  await time('checkout', async (say) => {
    run(place, 'git', 'clone', '--quiet', root, 'checkout');
    const directory = join(place, 'checkout');
    say('cloned');
    run(directory, 'npm', 'ci');
    say('npm ci');
    await serve(directory, 'npm', ['start'], say);
  });
  await time('packages', async (say) => {
    const directory = join(place, 'project');
    const tarballs = join(place, 'tarballs');
    for (const path of [directory, tarballs]) mkdirSync(path);
    // What a registry would serve.
    run(
      join(place, 'checkout'),
      'npm',
      'pack',
      '--workspaces',
      '--ignore-scripts',
      '--pack-destination',
      tarballs,
    );
    writeFileSync(join(directory, 'package.json'), '{"private":true}');
    say('packed');
    run(directory, 'npm', 'install', ...readdirSync(tarballs).map((file) => join(tarballs, file)));
    say('npm install');
    await serve(directory, 'npx', ['posthorn', 'serve', '--allow-loopback'], say);
  });
} finally {
  rmSync(place, { recursive: true, force: true });
}

async function time(way, work) {
  const started = Date.now();
  const seconds = () => `${((Date.now() - started) / 1_000).toFixed(1).padStart(6)} s`;
  await work((text) => console.log(`${way.padEnd(9)} ${seconds()}  ${text}`));
}

/** Starts the service, lets it deliver an event, and stops it. */
async function serve(directory, program, args, say) {
  const [port, platformPort] = [await freePort(), await freePort()];
  const dataDirectory = join(directory, 'data');
  const env = { ...process.env, POSTHORN_PORT: port, POSTHORN_PLATFORM_PORT: platformPort };
  Object.assign(env, { POSTHORN_DATA_DIR: dataDirectory, POSTHORN_LOG_LEVEL: 'warn' });
  // A group of its own, because npm and npx start the service as another process.
  const child = spawn(program, args, {
    cwd: directory,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
    detached: true,
  });
  const ended = once(child, 'close');
  try {
    await deliverFirstEvent({
      publicUrl: `http://127.0.0.1:${port}`,
      platformUrl: `http://127.0.0.1:${platformPort}`,
      platformToken: () => readFileSync(join(dataDirectory, 'platform-token'), 'utf8').trim(),
      patienceMs: 300_000,
    });
    say('first event delivered');
  } finally {
    process.kill(-child.pid, 'SIGTERM');
    await ended;
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}
