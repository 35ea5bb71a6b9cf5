import type { FastifyInstance } from 'fastify';
import { requirePlatformToken, TokenDirectory } from './access/auth.js';
import { GuessLimit } from './access/rate-limits.js';
import type { LiveCatalogue } from './catalogue/live-catalogue.js';
import type { DeliveryParts } from './delivering.js';
import { Recorder, type RecorderOptions } from './events/recorder.js';
import { healthRoutes, metricsRoute } from './operations/monitoring-routes.js';
import type { Tracing } from './operations/tracing.js';
import { createPlatformApi } from './platform-api.js';
import { createPublicApi, type PublicApiParts } from './public-api.js';
import { ConfigError } from './settings/config.js';
import { platformToken } from './settings/keys.js';
import { Repeating } from './signals/timers.js';
import { createListener, listen } from './web/listener.js';
import { addRoutes } from './web/route.js';

export interface ListenerParts extends Omit<PublicApiParts, 'tokens' | 'guesses'> {
  catalogue: LiveCatalogue;
  delivery: DeliveryParts;
  tracer: Tracing | undefined;
  /** Whether other processes of this node must not get requests to the platform listener. */
  exclusive?: boolean;
}

/** The addresses of the listeners with their actual ports. Undefined if the node does not have the role. */
export interface ListenerUrls {
  publicUrl: string | undefined;
  platformUrl: string | undefined;
  /** The address of health checks and metrics on a node without the `platform` role. */
  monitoringUrl: string | undefined;
}

const tokenFlushMs = 10_000;
const withdrawMsMax = 2_000;

/** The HTTP listeners of a node, one for each of its roles that has one. */
export class Listeners {
  readonly #parts: ListenerParts;
  readonly #guesses: GuessLimit;
  readonly #apps: FastifyInstance[] = [];
  #closeTokens: () => Promise<void> = async () => undefined;

  constructor(parts: ListenerParts) {
    this.#parts = parts;
    this.#guesses = new GuessLimit(parts.config.rateLimitReads > 0, parts.now);
  }

  async open(): Promise<ListenerUrls> {
    const { config } = this.#parts;
    const { host, port, platformHost, platformPort } = config;
    if (port !== 0 && port === platformPort && host === platformHost && config.roles.has('api'))
      throw new ConfigError(
        `POSTHORN_PORT and POSTHORN_PLATFORM_PORT are both ${port}. Choose another port for one of them.`,
      );
    const hasPlatform = config.roles.has('platform');
    // Read before the first listener opens, because this fails if the token cannot be stored.
    const token = hasPlatform ? (config.platformToken ?? (await platformToken(config.dataDir))) : undefined;
    const publicUrl = config.roles.has('api') ? await this.#openPublic() : undefined;
    const platformUrl = token === undefined ? undefined : await this.#openPlatform(token, publicUrl);
    const monitoringUrl = hasPlatform ? undefined : await this.#openMonitoring();
    return { publicUrl, platformUrl, monitoringUrl };
  }

  async #openPublic(): Promise<string> {
    const { config, database, logger, now } = this.#parts;
    const tokens = new TokenDirectory(database, now, config.cell);
    const flushing = new Repeating(tokenFlushMs, () => tokens.flush(), logger);
    this.#closeTokens = async () => {
      await flushing.stop();
      await tokens.flush().catch(() => undefined);
    };
    const app = await createPublicApi({ ...this.#parts, tokens, guesses: this.#guesses });
    this.#apps.push(app);
    return listen(app, 'public API', config.host, config.port);
  }

  async #openPlatform(token: string, publicUrl: string | undefined): Promise<string> {
    const { config, database, delivery, metrics } = this.#parts;
    const options: RecorderOptions = {
      database,
      room: delivery.control.room,
      // Hands the deliveries of a recording straight to the engine.
      onRecorded: (batch) => {
        delivery.control.accept(batch);
        metrics.eventsRecorded.inc(batch.events.length);
      },
    };
    const app = await createPlatformApi({
      ...this.#parts,
      guesses: this.#guesses,
      recorder: new Recorder(options),
      resources: options,
      publicUrl,
      token,
    });
    this.#apps.push(app);
    return listen(app, 'platform listener', config.platformHost, config.platformPort, this.#parts.exclusive);
  }

  /**
   * On a node without the `platform` role, listens for health checks and, if there is a platform token, metrics, if the
   * address is free. Several nodes on one machine may have the same settings, and a node can work without being monitored.
   */
  async #openMonitoring(): Promise<string | undefined> {
    const { config, logger, metrics, isReady } = this.#parts;
    const app = await createListener({
      name: 'monitoring',
      logger,
      bodyLimit: 1024,
      trustedProxies: config.trustedProxies,
      onFinished: metrics.observeRequests('monitoring'),
    });
    const { platformToken: given, databaseUrl, dataDir } = config;
    // Generated only with the embedded database: with an external one, a node may have no directory to write to.
    const token = given === undefined && databaseUrl === undefined ? await platformToken(dataDir) : given;
    if (token !== undefined) requirePlatformToken(app, token, this.#guesses);
    addRoutes(app, [...healthRoutes(isReady), ...(token === undefined ? [] : [metricsRoute(metrics)])]);
    this.#apps.push(app);
    try {
      return await listen(app, 'monitoring', config.platformHost, config.platformPort);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      logger.warn(`this node serves no health checks and no metrics: ${error.message}`);
      return undefined;
    }
  }

  /** Stops accepting connections, and lets the clients of open ones move to another process. */
  async withdraw(): Promise<void> {
    await Promise.all(this.#apps.map((app) => app.withdraw(withdrawMsMax)));
  }

  /** Closes the listeners after requests in flight have finished. */
  async close(): Promise<void> {
    await this.#closeTokens();
    await Promise.all(this.#apps.map((app) => app.close()));
  }
}
