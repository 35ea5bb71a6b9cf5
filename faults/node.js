import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ended, killFamily, memoryMb, start } from './processes.js';
import { until } from './waiting.js';

/** The program that nodes run. `npm test` gives a bundle of it, which starts with a third of the CPU. */
export const entry =
  process.env.FAULTS_PROGRAM ?? fileURLToPath(new URL('../packages/server/bin/posthorn.js', import.meta.url));
export const platformToken = 'faults-platform-token';

/**
 * The time limit of an attempt. The lease of a dead node ends 2.5 s later, and then other nodes attempt its deliveries.
 */
export const attemptMs = 2_000;
export const leaseMs = attemptMs + 2_500;
/** Many short waits: a delivery survives half a minute of failures, and a run does not wait long for its last retry. */
const retryWaits = ['200ms', '300ms', '500ms', '1s', '1s', '1s', ...Array(13).fill('2s')];

const startMs = 60_000;
const stopMs = 15_000;

/** A `posthorn serve` process. It keeps its ports when it is started again. */
export class Node {
  #child;
  #settings;
  #command;

  constructor(name, port, platformPort, place, settings) {
    const { command = [process.execPath, entry], ...environment } = settings;
    this.name = name;
    this.publicUrl = `http://127.0.0.1:${port}`;
    this.platformUrl = `http://127.0.0.1:${platformPort}`;
    this.logFile = join(place, `${name}.log`);
    this.#command = command;
    this.#settings = {
      ...{ PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR ?? '/tmp' },
      ...{ POSTHORN_PORT: String(port), POSTHORN_PLATFORM_PORT: String(platformPort) },
      ...{ POSTHORN_DATA_DIR: join(place, name), POSTHORN_PLATFORM_TOKEN: platformToken },
      // A key that protects nothing but this run.
      POSTHORN_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      ...{ POSTHORN_DELIVERY_TIMEOUT: `${attemptMs}ms`, POSTHORN_RETRY_SCHEDULE: retryWaits.join(',') },
      ...{ POSTHORN_EGRESS_ALLOW: '127.0.0.1/32', POSTHORN_LOG_LEVEL: 'warn' },
      ...{ POSTHORN_RATE_LIMIT_READS: '0', POSTHORN_RATE_LIMIT_WRITES: '0' },
      ...environment,
    };
  }

  /** Prepares a node on free ports. */
  static async prepare(name, place, settings) {
    return new Node(name, await freePort(), await freePort(), place, settings);
  }

  get pid() {
    return this.#child?.pid;
  }

  get isRunning() {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Starts the process, and waits until it is ready unless the database is out of reach. */
  async start({ ready = true } = {}) {
    const [file, ...args] = this.#command;
    this.#child = start(file, [...args, 'serve'], { env: this.#settings, logFile: this.logFile });
    if (ready) await this.ready();
  }

  async ready() {
    const isReady = async () => {
      if (!this.isRunning) throw new Error(`${this.name} ended; see ${this.logFile}`);
      const responses = await Promise.all(
        [this.publicUrl, this.platformUrl].map((url) => fetch(`${url}/readyz`).catch(() => undefined)),
      );
      return responses.every((response) => response?.status === 200);
    };
    await until(`the readiness of ${this.name}`, isReady, startMs);
  }

  /** Ends the process with SIGKILL. */
  async kill() {
    if (this.#child) await killFamily(this.#child);
  }

  /** Lets the process drain and end, as an upgrade does. */
  async stop() {
    if (!this.isRunning) return;
    this.#child.kill('SIGTERM');
    await ended(this.#child, stopMs);
  }

  pause() {
    process.kill(this.#child.pid, 'SIGSTOP');
  }

  resume() {
    process.kill(this.#child.pid, 'SIGCONT');
  }

  get memoryMb() {
    return memoryMb(this.#child.pid);
  }
}

let candidate = 20_000 + (process.pid % 97) * 100;

/** Returns a port below those that the kernel gives to outgoing connections: a dead node's port stays free. */
async function freePort() {
  for (;;) {
    candidate = candidate >= 32_000 ? 20_000 : candidate + 1;
    const probe = createServer();
    const isFree = await new Promise((resolve) => {
      probe.once('error', () => resolve(false));
      probe.listen(candidate, '127.0.0.1', () => probe.close(() => resolve(true)));
    });
    if (isFree) return candidate;
  }
}
