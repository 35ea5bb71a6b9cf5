import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { type Logger, pino } from 'pino';
import { LiveCatalogue } from './catalogue/live-catalogue.js';
import { openDelivery } from './delivering.js';
import { recordBatch } from './events/recording-store.js';
import { Listeners } from './listeners.js';
import { Metrics } from './operations/metrics.js';
import { Database, type Statement } from './postgres/database.js';
import { Reachability } from './postgres/reachability.js';
import type { Config } from './settings/config.js';
import { Notifier } from './signals/notifier.js';
import { within } from './signals/timers.js';
import { createAddressPolicy, parseCidrs } from './values/address.js';

/**
 * How many events pass through a node before it starts, and how long that may take on a slow machine. With more events,
 * V8 optimizes for what `StandIn` returns, and has to start again when PostgreSQL responds.
 */
const warmUpLimits: { readonly events: number; readonly ms: number } = { events: 100, ms: 1_000 };
const producers = 16;
const responseMsMax = 5_000;
/** About as long as a commit, so that requests gather as usual. */
const statementMs = 1;

const loopback = '127.0.0.1';
const [organization_id, webhook_id] = ['ORG-warm-up', 'WHK-01JAB3C4D5E6F7G8H9J0K1M2N3'];

/**
 * Passes invented events through the listener, the recorder, the engine and the settler of a node that exists only for
 * this, so that V8 has compiled them before the first real event. The first requests of a cold process take up to
 * 200 ms. There is no database: `StandIn` responds instead of it. Requests and deliveries stay on the loopback
 * interface. Returns how many events arrived. A failure does not keep the service from starting.
 */
export async function warmUp(config: Config, logger: Logger, limits = warmUpLimits): Promise<number> {
  const closers: (() => unknown)[] = [];
  try {
    return await run(config, limits, closers).finally(async () => {
      for (const close of closers.reverse()) await close();
    });
  } catch (error) {
    const reason = (error as Error).message;
    logger.warn({ reason }, 'this process could not warm up; its first requests take longer');
    return 0;
  }
}

/** As many as record at the same time, and some that read. */
const connections = 4;

/** Opens connections, and records nothing on each of them: PostgreSQL compiles its functions once per connection. */
export async function warmUpConnections(database: Database): Promise<void> {
  const recordNothing = () =>
    database.onConnection((client) => recordBatch(client, { events: [], payloads: [] }));
  await Promise.allSettled(Array.from({ length: connections }, recordNothing));
}

async function run(given: Config, limits: typeof warmUpLimits, closers: (() => unknown)[]): Promise<number> {
  const untilMs = performance.now() + limits.ms;
  let [sent, arrived] = [0, 0];
  let allArrived: () => void = () => undefined;
  const receiver = createServer((request, response) => {
    request.resume();
    response.end();
    arrived += 1;
    if (arrived === limits.events) allArrived();
  }).listen({ port: 0, host: loopback, exclusive: true });
  closers.push(() => receiver.close().closeAllConnections());
  await once(receiver, 'listening');

  const platformToken = randomBytes(24).toString('hex');
  const config: Config = {
    ...given,
    roles: new Set(['platform', 'delivery']),
    platformHost: loopback,
    platformPort: 0,
    platformToken,
    secretKeys: [randomBytes(32)],
    directDatabaseUrl: undefined,
  };
  const logger = pino({ level: config.logLevel }, { write: () => undefined });
  const database = new StandIn(`http://${loopback}:${(receiver.address() as AddressInfo).port}/`);
  const catalogue = new LiveCatalogue(database, undefined, logger);
  const parts = {
    config,
    database,
    logger,
    metrics: new Metrics(),
    recorded: new Notifier(),
    tracer: undefined,
    now: Date.now,
    policy: createAddressPolicy(parseCidrs(`${loopback}/32`)!),
  };
  const delivery = await openDelivery({
    ...parts,
    target: nowhere,
    own: database,
    alone: false,
    reachability: new Reachability(logger),
  });
  closers.push(() => delivery.stop());
  database.secret = delivery.secrets.seal('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', webhook_id);
  const listeners = new Listeners({
    ...parts,
    catalogue,
    delivery,
    logo: undefined,
    exclusive: true,
    stopping: new AbortController().signal,
    isReady: async () => true,
    hasStarted: () => true,
    eventReads: (work) => work(database),
  });
  closers.push(() => listeners.close());
  const { platformUrl = '' } = await listeners.open();
  await delivery.start();

  const { type, sample: payload } = catalogue.list()[0]!;
  const body = JSON.stringify([
    {
      type,
      organization_id,
      actor: { type: 'user', id: 'USR-1' },
      subject: { type: 'run', id: 'RUN-1' },
      payload,
    },
  ]);
  const request = [
    'POST /platform/events HTTP/1.1',
    `Host: ${loopback}`,
    `Authorization: Bearer ${platformToken}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
  // Over plain sockets: if another kind of client than the engine's used undici, V8 would optimize undici for both, and
  // every delivery would cost more from then on.
  const produce = () =>
    new Promise<void>((done, failed) => {
      const socket = connect(Number(new URL(platformUrl).port), loopback);
      closers.push(() => socket.destroy());
      const next = () => {
        if (sent >= limits.events || performance.now() >= untilMs) return done();
        sent += 1;
        socket.write(request);
      };
      socket.setTimeout(responseMsMax, () => failed(new Error('a request took too long')));
      socket.on('connect', next).on('error', failed);
      // A response is so short that it arrives in one piece.
      socket.on('data', (response) => {
        if (response.indexOf('HTTP/1.1 201 ') === 0) next();
        else failed(new Error(response.toString()));
      });
    });
  await Promise.all(Array.from({ length: producers }, produce));
  if (sent === limits.events && arrived < sent)
    await within(untilMs - performance.now(), new Promise<void>((resolve) => (allArrived = resolve)));
  return arrived;
}

/** No PostgreSQL can be there, so nothing that `StandIn` does not respond to reaches one. */
const nowhere = { host: '/nonexistent' };

/** Responds to the statements of the hot path as PostgreSQL does if there is one webhook that gets every event. */
class StandIn extends Database {
  readonly #url: string;
  readonly #created_at = new Date();
  #base = 2 ** 38;
  secret: Buffer = Buffer.alloc(0);

  constructor(url: string) {
    super(nowhere);
    this.#url = url;
  }

  override async query<Row extends object>(statement: Statement) {
    await new Promise((done) => setTimeout(done, statementMs));
    const rows = this.#rowsOf(statement) as Row[];
    return { rows, rowCount: rows.length, command: '', oid: 0, fields: [] };
  }

  #rowsOf({ name, text, values = [] }: Statement): object[] {
    if (name === 'record batch') return this.#recorded(String(values[0]).split(',').length);
    if (name === 'settle') return [{ written: null, failing: null, unreported: null }];
    if (name === 'webhooks by id') return [this.#webhook()];
    if (name === 'release leases') return [{ released: 0, overdue: null }];
    if (text.includes('posthorn.nodes')) return [{ id: 1, count: 0 }];
    return [];
  }

  #recorded(size: number): object[] {
    this.#base += size;
    const { created_at, base } = { created_at: this.#created_at, base: this.#base };
    const none = { webhook_id: null, revision: null, ordinals: null, has_backlog: null };
    const ordinals = Array.from({ length: size }, (_, index) => index + 1);
    return [
      { ordinal: 0, id: '01JAB3C4D5E6F7G8', created_at, base, ...none },
      {
        ordinal: null,
        id: null,
        created_at: null,
        base,
        webhook_id,
        revision: 1,
        ordinals,
        has_backlog: false,
      },
    ];
  }

  #webhook(): object {
    return {
      id: webhook_id,
      organization_id,
      workspace_id: null,
      url: this.#url,
      status: 'active',
      revision: 1,
      secret: this.secret,
      previous_secret: null,
      previous_secret_until: null,
      secret_rotated_at: null,
      headers: null,
      format: 'envelope',
      template: null,
      rate_limit: null,
      retry_schedule: null,
    };
  }
}
