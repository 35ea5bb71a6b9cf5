import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import compress from '@fastify/compress';
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify';
import { Problem } from '../domain/problem.js';
import { problemBody, problemOf, sendProblem } from './problems.js';
import { parseQueryString } from './query.js';
import { installValidation } from './validation.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** What the finished request's one log line says beyond the usual. */
    logFields: Record<string, unknown>;
    /** The body's own text, where it was JSON. */
    bodyText: string | undefined;
  }
}

export interface ListenerOptions {
  name: 'public' | 'platform';
  logger: FastifyBaseLogger;
  bodyLimit: number;
  onFinished?: (route: string, method: string, status: number, seconds: number) => void;
}

const requestIdPattern = /^[A-Za-z0-9._-]{8,128}$/;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** An HTTP listener with everything both of ours share; routes are added by whoever asked for it. */
export async function createListener(options: ListenerOptions): Promise<FastifyInstance> {
  const { bodyLimit, logger } = options;
  const app = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    bodyLimit,
    requestIdHeader: false,
    genReqId: (request) => {
      const given = request.headers['x-request-id'];
      return typeof given === 'string' && requestIdPattern.test(given) ? given : randomUUID();
    },
    requestTimeout: 30_000,
    keepAliveTimeout: 65_000,
    forceCloseConnections: 'idle',
    routerOptions: { querystringParser: parseQueryString, maxParamLength: 500, ignoreTrailingSlash: false },
    frameworkErrors: (error, request, reply) => {
      reply.header('X-Request-Id', request.id);
      sendProblem(problemOf(error, bodyLimit), request, reply);
    },
    clientErrorHandler: answerBrokenHttp,
  });

  app.decorateRequest('logFields', null as unknown as Record<string, unknown>);
  app.decorateRequest('bodyText', undefined);
  app.setErrorHandler((error, request, reply) => {
    const problem = problemOf(error, bodyLimit);
    if (problem.code === 'internal') request.log.error({ err: error }, 'unexpected error');
    return sendProblem(problem, request, reply);
  });

  const routes = knownRoutes(app);
  app.addHook('onRequest', async (request, reply) => {
    request.logFields = {};
    reply.header('X-Request-Id', request.id);
    reply.header('X-Content-Type-Options', 'nosniff');
    if (request.is404) throw routes.missing(request.method, request.url);
  });
  app.addHook('onResponse', async (request, reply) => {
    const route = request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown');
    const seconds = reply.elapsedTime / 1000;
    options.onFinished?.(route, request.method, reply.statusCode, seconds);
    request.log.info(
      {
        listener: options.name,
        method: request.method,
        route,
        status: reply.statusCode,
        duration_ms: Math.round(reply.elapsedTime * 10) / 10,
        ...request.logFields,
      },
      'request',
    );
  });

  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      request.bodyText = decodeBody(body);
      return parseJson(request.bodyText);
    },
  );
  app.setSerializerCompiler(() => JSON.stringify);
  await app.register(compress, { threshold: 1024, encodings: ['br', 'gzip', 'deflate'] });
  installValidation(app);
  return app;
}

export function decodeBody(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch {
    throw new Problem('malformed_json', 'The body is not UTF-8 text.');
  }
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // V8 quotes the text around the fault; a body may hold a secret, so only the place is passed on.
    const place = /position (\d+)/.exec((error as Error).message)?.[1];
    throw new Problem(
      'malformed_json',
      place ? `JSON ends making sense at character ${place}.` : 'JSON is incomplete.',
    );
  }
}

/** Remembers which methods each path has, to tell a wrong method (405) from a wrong path (404). */
function knownRoutes(app: FastifyInstance) {
  const methodsByPath = new Map<string, { pattern: RegExp; methods: Set<string> }>();
  app.addHook('onRoute', ({ url, method }) => {
    const pattern = new RegExp(`^${url.replace(/[.+*]/g, '\\$&').replace(/:[^/]+/g, '[^/]+')}$`);
    const known = methodsByPath.get(url) ?? { pattern, methods: new Set() };
    for (const name of [method].flat()) known.methods.add(name.toUpperCase());
    methodsByPath.set(url, known);
  });
  return {
    missing(method: string, url: string): Problem {
      const path = url.split('?', 1)[0] ?? '/';
      const allowed = new Set<string>();
      for (const { pattern, methods } of methodsByPath.values()) {
        if (pattern.test(path)) for (const name of methods) allowed.add(name);
      }
      if (allowed.size === 0) return new Problem('not_found', 'There is nothing at this path.');
      const allow = [...allowed].sort().join(', ');
      return new Problem('method_not_allowed', `${method} is not available here; use ${allow}.`, {
        headers: { Allow: allow },
      });
    },
  };
}

/** What is not even HTTP is answered in the same form, then the connection is closed. */
function answerBrokenHttp(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const tooLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const late = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  const line = tooLarge
    ? '431 Request Header Fields Too Large'
    : late
      ? '408 Request Timeout'
      : '400 Bad Request';
  const detail = tooLarge
    ? 'The headers are too large.'
    : late
      ? 'The request did not arrive in time.'
      : 'This is not a well-formed HTTP request.';
  const requestId = randomUUID();
  const body = problemBody(new Problem('malformed_request', detail), '/', requestId);
  const status = line.slice(0, 3);
  const text = body.replace('"status":400', `"status":${status}`);
  socket.end(
    `HTTP/1.1 ${line}\r\nContent-Type: application/problem+json\r\nX-Request-Id: ${requestId}\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
}
