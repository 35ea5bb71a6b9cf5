// npm run image: builds the image with Docker or Buildah, then runs it as the docs say (read-only, as an ordinary user),
// lets it deliver an event, and stops it. Prints how large it is beside its base, and writes its parts list (CycloneDX).
//   --base IMAGE   the base to use instead of node:22-slim
//   --tag NAME     the name of the image (default: posthorn)
//   --try          build nothing, and try the image that is there
// Where no registry of images can be reached, Buildah builds on a base made with debootstrap and the `node` package of npm.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startDatabase } from '../bench/database.js';
import { deliverFirstEvent } from './first-event.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({
  options: {
    base: { type: 'string' },
    tag: { type: 'string', default: 'posthorn' },
    try: { type: 'boolean' },
  },
});
const started = Date.now();
const say = (text) => console.log(`${((Date.now() - started) / 1_000).toFixed(0).padStart(4)} s  ${text}`);
const works = (program, ...args) => spawnSync(program, args, { stdio: 'ignore' }).status === 0;
const run = (program, ...args) =>
  execFileSync(program, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
const read = (program, ...args) => execFileSync(program, args, { cwd: root, encoding: 'utf8' }).trim();
const version = JSON.parse(readFileSync(join(root, 'packages/server/package.json'), 'utf8')).version;
const sizeMax = 90;

const tool = works('docker', 'info') ? 'docker' : works('buildah', '--version') ? 'buildah' : undefined;
if (tool === undefined) {
  console.error(
    'Neither a Docker engine nor Buildah was found. On Debian: apt-get install buildah debootstrap',
  );
  process.exit(1);
}
// In a sandbox without user namespaces and overlay file systems, these work.
const buildah = ['--storage-driver', 'vfs'];

const base = values.base ?? baseImage();
if (!values.try) {
  say(`Building on ${base} with ${tool}`);
  build();
}
const parts = { image: sizeOf(values.tag), base: sizeOf(base) };
const added = (parts.image - parts.base) / 1e6;
say(
  `Built: ${(parts.image / 1e6).toFixed(0)} MB, ${added.toFixed(0)} MB over its base (aim: at most ${sizeMax})`,
);
const list = join(root, `posthorn-${version}.cdx.json`);
writeFileSync(
  list,
  read(
    'npm',
    'sbom',
    '--sbom-format',
    'cyclonedx',
    '--omit',
    'dev',
    '--omit',
    'optional',
    '--sbom-type',
    'application',
  ),
);
say(`Wrote ${list}: ${JSON.parse(readFileSync(list, 'utf8')).components.length} components`);
await tryIt();
process.exitCode = added <= sizeMax ? 0 : 1;

function baseImage() {
  const usual = 'docker.io/library/node:22-slim';
  if (tool === 'docker') return 'node:22-slim';
  if (works('buildah', ...buildah, 'pull', '-q', usual)) return usual;
  const made = 'localhost/posthorn-base';
  if (works('buildah', ...buildah, 'inspect', made)) return made;
  say('No registry of images can be reached: making a base with debootstrap');
  const place = mkdtempSync(join(tmpdir(), 'posthorn-base-'));
  try {
    const system = join(place, 'system');
    run('debootstrap', '--variant=minbase', '--include=ca-certificates,libstdc++6', 'bookworm', system);
    const { arch } = process;
    run('npm', 'install', '--prefix', place, '--no-save', '--ignore-scripts', `node-linux-${arch}@22`);
    cpSync(join(place, `node_modules/node-linux-${arch}/bin/node`), join(system, 'usr/local/bin/node'));
    // npm itself is only for the build.
    const npm = dirname(dirname(read('sh', '-c', 'realpath "$(command -v npm)"')));
    cpSync(npm, join(system, 'usr/local/lib/node_modules/npm'), { recursive: true });
    run('ln', '-sf', '../lib/node_modules/npm/bin/npm-cli.js', join(system, 'usr/local/bin/npm'));
    const container = read('buildah', ...buildah, 'from', 'scratch');
    run('buildah', ...buildah, 'add', '-q', container, system, '/');
    run('buildah', ...buildah, 'commit', '-q', '--rm', container, made);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
  return made;
}

function build() {
  const secrets = [
    ['npmrc', join(homedir(), '.npmrc')],
    ['certificates', process.env.NODE_EXTRA_CA_CERTS ?? ''],
  ].flatMap(([id, file]) => (existsSync(file) ? ['--secret', `id=${id},src=${file}`] : []));
  const args = ['--build-arg', `BASE=${base}`, ...secrets, '--tag', values.tag, '.'];
  if (tool === 'docker') run('docker', 'build', ...args);
  else
    run(
      'buildah',
      ...buildah,
      'bud',
      '--isolation',
      'chroot',
      '--network',
      'host',
      '--format',
      'docker',
      '--layers=false',
      ...args,
    );
}

function sizeOf(image) {
  if (tool === 'docker') return Number(read('docker', 'image', 'inspect', '--format', '{{.Size}}', image));
  const container = read('buildah', ...buildah, 'from', '--pull-never', image);
  const mounted = read('buildah', ...buildah, 'mount', container);
  const [size] = read('du', '-sb', mounted).split('\t');
  read('buildah', ...buildah, 'rm', container);
  return Number(size);
}

/** Runs the image against a PostgreSQL until it has delivered an event. */
async function tryIt() {
  const database = await startDatabase();
  const [port, platformPort] = [await freePort(), await freePort()];
  const platformToken = randomBytes(24).toString('hex');
  const socket = database.connection.host;
  // Only for its owner otherwise.
  for (const path of [socket, join(socket, '.s.PGSQL.5432')]) chmodSync(path, 0o777);
  const settings = {
    DATABASE_URL: database.url,
    POSTHORN_SECRET_KEY: randomBytes(32).toString('base64'),
    ...{ POSTHORN_PLATFORM_TOKEN: platformToken, POSTHORN_PORT: port, POSTHORN_PLATFORM_PORT: platformPort },
    ...{
      POSTHORN_HOST: '127.0.0.1',
      POSTHORN_PLATFORM_HOST: '127.0.0.1',
      POSTHORN_EGRESS_ALLOW: '127.0.0.0/8',
    },
  };
  const { child, clear } = tool === 'docker' ? inDocker(settings, socket) : inChroot(settings, socket);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  const ended = once(child, 'close');
  try {
    const urls = { publicUrl: `http://127.0.0.1:${port}`, platformUrl: `http://127.0.0.1:${platformPort}` };
    const id = await Promise.race([
      deliverFirstEvent({ ...urls, platformToken }),
      ended.then(([code]) => Promise.reject(new Error(`The image ended with ${code}.`))),
    ]);
    say(`The image runs read-only as an ordinary user, and has delivered ${id}`);
    child.kill('SIGTERM');
    const [code] = await ended;
    if (code !== 0) throw new Error(`After SIGTERM, the image ended with ${code}.`);
    say('It stopped with exit code 0');
  } catch (error) {
    console.error(output);
    throw error;
  } finally {
    child.kill('SIGKILL');
    await clear();
    await database.stop();
  }
}

function inDocker(settings, socket) {
  const env = Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  const limits = [
    '--read-only',
    '--tmpfs',
    '/tmp',
    '--cap-drop',
    'ALL',
    '--stop-timeout',
    '15',
    '--network',
    'host',
  ];
  const args = ['run', '--rm', '--init', ...limits, '--volume', `${socket}:${socket}`, ...env, values.tag];
  return { child: spawn('docker', args), clear: async () => undefined };
}

/** Does what a container engine would: a read-only root, a /tmp in memory, an ordinary user. */
function inChroot(settings, socket) {
  const container = read('buildah', ...buildah, 'from', '--pull-never', values.tag);
  const place = read('buildah', ...buildah, 'mount', container);
  const { OCIv1 } = JSON.parse(read('buildah', ...buildah, 'inspect', '--type', 'image', values.tag));
  const { Env = [], Entrypoint, Cmd, User, WorkingDir } = OCIv1.config;
  const env = [...Env, ...Object.entries(settings).map(([name, value]) => `${name}=${value}`)];
  const script = `
    set -e
    mount --bind "$1" "$1"
    mount -t tmpfs tmpfs "$1/tmp"
    mkdir -p "$1$2"
    mount --bind "$2" "$1$2"
    mount -t proc proc "$1/proc"
    mount --bind /dev "$1/dev"
    mount -o remount,ro,bind "$1"
    root=$1; shift 2
    exec chroot --userspec=${User}:${User} "$root" "$@"`;
  const command = ['/usr/bin/env', '-i', '-C', WorkingDir, ...env, ...Entrypoint, ...Cmd];
  const child = spawn('unshare', ['--mount', 'sh', '-c', script, 'sh', place, socket, ...command]);
  const clear = async () => {
    read('buildah', ...buildah, 'rm', container);
  };
  return { child, clear };
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}
