import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { fastify, LogController } from 'fastify';
import { ConfigError } from '../settings/config.js';
import { type Cidr, sourceAddress } from '../values/address.js';
import { Problem, unavailable } from '../values/problem.js';
import { installCompression } from './compression.js';
import { drainOnClose, inTurn } from './connections.js';
import { type Elsewhere, missingRoutes } from './known-routes.js';
import { MalformedHttp, problemOf, sendProblem } from './problems.js';
import { decodeBody, installValidation, parseJson, parseQueryString } from './validation.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route needs no token on any listener, because it exposes no data. */
    open?: boolean;
    /** Whether the route responds even before the database has been checked. Open routes do, too. */
    early?: boolean;
    /** Returns whether the route does not exist at the moment. */
    isOff?: () => boolean;
    /** Whether a missing body counts as `{}`. */
    bodyIsOptional?: boolean;
  }
  interface FastifyRequest {
    /** Additional fields for the log line of the request. */
    logFields: Record<string, unknown>;
    /** The original text of a JSON body. */
    bodyText: string | undefined;
    /** The address that the request comes from, behind the operator's proxies. */
    readonly sourceAddress: string;
  }
}

export interface ListenerOptions {
  name: 'public' | 'platform' | 'monitoring';
  logger: FastifyBaseLogger;
  bodyLimit: number;
  /** Proxies whose `X-Forwarded-For` is trusted. */
  trustedProxies?: readonly Cidr[];
  onFinished?: (route: string, method: string, status: number, seconds: number) => void;
  elsewhere?: Elsewhere;
  /** Whether the database has been checked. Until then, a request could write to one that is not meant for this node. */
  hasStarted?: () => boolean;
}

const requestIdPattern = /^[A-Za-z0-9._-]{8,128}$/;
/** The size of the largest request head that Node accepts, so that an ID of any length reaches its route. */
const maxParamLength = 16 * 1024;

/** Creates an HTTP listener with everything that all listeners share. The caller adds the routes. */
export async function createListener(options: ListenerOptions): Promise<FastifyInstance> {
  const { bodyLimit, logger } = options;
  const malformed = new MalformedHttp();
  const app = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    // A logger of its own for each request would cost more than the one line that it writes.
    childLoggerFactory: () => logger,
    bodyLimit,
    requestIdHeader: false,
    genReqId: (request) => {
      const given = request.headers['x-request-id'];
      return typeof given === 'string' && requestIdPattern.test(given) ? given : randomUUID();
    },
    serverFactory: (handle) => createHttpServer(malformed.watch(handle)),
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { querystringParser: parseQueryString, maxParamLength, ignoreTrailingSlash: false },
    frameworkErrors: (error, request, reply) => {
      setCommonHeaders(request, reply);
      sendProblem(problemOf(error, bodyLimit), request, reply);
    },
    clientErrorHandler: (error, socket) => malformed.respond(error, socket),
  });
  // By default, Node itself rejects requests with an unknown `Expect`, and its response has no body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));

  app.decorateRequest('logFields', null as unknown as Record<string, unknown>);
  app.decorateRequest('bodyText', undefined);
  const trusted = options.trustedProxies ?? [];
  let hasWarned = false;
  // Fastify's own `trustProxy` would accept any text as an address, and would also trust other headers of the proxy.
  app.decorateRequest('sourceAddress', {
    getter() {
      const forwardedFor = this.headers['x-forwarded-for'] as string | undefined;
      if (forwardedFor !== undefined && trusted.length === 0 && !hasWarned) {
        hasWarned = true;
        logger.warn(
          'X-Forwarded-For is ignored. If a proxy sends it, set POSTHORN_TRUSTED_PROXIES: otherwise all clients behind the proxy share one limit on invalid tokens',
        );
      }
      return sourceAddress(this.ip, forwardedFor, trusted);
    },
  });
  app.setErrorHandler((error, request, reply) => {
    const problem = problemOf(error, bodyLimit);
    if (problem.code === 'internal')
      request.log.error({ request_id: request.id, err: error }, 'unexpected error');
    return sendProblem(problem, request, reply);
  });

  const missing = missingRoutes(app, options.elsewhere);
  const drain = drainOnClose(app);
  // This hook returns a promise, so that Node parses the bytes that arrived with the head before anything is sent: they
  // may not be HTTP. Other hooks that wait for nothing use callbacks, because a promise for each would cost as much as
  // validation.
  app.addHook('onRequest', async (request, reply) => {
    request.logFields = {};
    setCommonHeaders(request, reply);
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1')
      throw new Problem('malformed_request', 'The Host header is missing.');
    if (hasTwoHosts(request.raw.rawHeaders))
      throw new Problem('malformed_request', 'The request has more than one Host header.');
    drain.refuseWhileStopping();
    drain.closeIfWithdrawn(reply);
    if (request.is404 || hasEmptyId(request) || request.routeOptions.config.isOff?.())
      throw missing(request.method, request.url);
    if (options.hasStarted?.() === false) refuseUnlessEarly(request);
  });
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown');
    const seconds = reply.elapsedTime / 1000;
    options.onFinished?.(route, request.method, reply.statusCode, seconds);
    // Probes arrive every few seconds, even when nothing happens.
    const level = /^\/(healthz|readyz)$/.test(route) ? 'debug' : 'info';
    request.log[level](
      {
        request_id: request.id,
        listener: options.name,
        method: request.method,
        route,
        status: reply.statusCode,
        duration_ms: Math.round(reply.elapsedTime * 10) / 10,
        ...request.logFields,
      },
      'request',
    );
    done();
  });

  app.addHook('preParsing', (request, _reply, payload, done) => {
    const { 'content-encoding': encoding = 'identity', 'content-length': length = '0' } = request.headers;
    if (Number(length) > bodyLimit) {
      throw new Problem('body_too_large', `The body must not be larger than ${bodyLimit} bytes.`);
    }
    const hasBody = length !== '0' || request.headers['transfer-encoding'] !== undefined;
    if (hasBody && encoding.toLowerCase() !== 'identity' && !['GET', 'HEAD'].includes(request.method)) {
      throw new Problem('unsupported_media_type', 'Send the body without a Content-Encoding.', {
        headers: { 'Accept-Encoding': 'identity' },
      });
    }
    done(null, payload);
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    (request: FastifyRequest, body: Buffer, done) => {
      // Many clients send a content type without a body.
      if (body.length === 0 && needsNoBody(request)) done(null, undefined);
      else {
        request.bodyText = decodeBody(body);
        done(null, parseJson(request.bodyText));
      }
    },
  );
  app.setSerializerCompiler(() => JSON.stringify);
  await installCompression(app);
  installValidation(app);
  return app;
}

function refuseUnlessEarly({ routeOptions: { config } }: FastifyRequest): void {
  if (config.open || config.early) return;
  throw unavailable(
    'This node is starting and has not been able to check its database yet. Nothing was changed. Try again shortly.',
    2,
  );
}

function createHttpServer(handle: RequestListener): Server {
  const server = createServer(
    {
      // By default, Node itself rejects requests without `Host`, and its response has no body.
      requireHostHeader: false,
      // By default, Node looks for slow requests only every 30 s, so they would have up to a minute.
      connectionsCheckingInterval: 2_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 65_000,
    },
    inTurn(handle),
  );
  // Close connections without traffic. Tails stay open, because they send something every 15 s.
  return server.setTimeout(70_000);
}

/** Returns whether an ID in the path is empty, as in `/v1/events/`. The router would accept it. */
function hasEmptyId({ params }: FastifyRequest): boolean {
  const ids = Object.entries(params as Record<string, string>);
  return ids.some(([name, value]) => value === '' && name !== '*');
}

function needsNoBody(request: FastifyRequest): boolean {
  const { config, schema } = request.routeOptions;
  return schema?.body === undefined || config.bodyIsOptional === true;
}

/** Returns whether there are two `Host` headers: a proxy could act on one of them, and we on the other. */
function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1;
}

function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('X-Request-Id', request.id).header('X-Content-Type-Options', 'nosniff');
}

const listenFaults: Record<string, string> = {
  EADDRINUSE: 'another program is listening on it',
  EADDRNOTAVAIL: 'this machine does not have that address',
  ENOTFOUND: 'the name does not exist',
  EAI_AGAIN: 'the name cannot be resolved',
  EACCES: 'this user is not allowed to listen on it',
};

/**
 * Starts listening, and returns the URL with the real port. An address that cannot be used is reported as a fault in
 * the settings that name it. Processes under one supervisor share what is not `exclusive`.
 */
export async function listen(
  app: FastifyInstance,
  name: string,
  host: string,
  port: number,
  exclusive = false,
): Promise<string> {
  const settings =
    name === 'public API' ? 'POSTHORN_HOST, POSTHORN_PORT' : 'POSTHORN_PLATFORM_HOST, POSTHORN_PLATFORM_PORT';
  try {
    await app.listen({
      host,
      port,
      exclusive,
      listenTextResolver: (address) => `${name} listening on ${address}`,
    });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    const reason = listenFaults[code];
    if (reason === undefined) throw error;
    const remedy =
      code === 'EADDRINUSE'
        ? 'stop that program, or set POSTHORN_PORT and POSTHORN_PLATFORM_PORT to free ports (0 selects any free port)'
        : 'use an address of this machine and a free port';
    throw new ConfigError(
      `${settings}: ${JSON.stringify(`${host}:${port}`)} cannot be used: ${reason}; ${remedy}.`,
    );
  }
  const { address, port: real } = app.server.address() as AddressInfo;
  return urlOf(address, real);
}

/** Returns a URL that a browser can open. A listener on all addresses is shown with its loopback address. */
export function urlOf(host: string, port: number): string {
  const address = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}
