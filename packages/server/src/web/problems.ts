import { randomUUID } from 'node:crypto';
import { type RequestListener, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { organizationElsewhere, organizationMoving } from '../cells/relocation-store.js';
import * as errors from '../postgres/database-errors.js';
import { Problem, problems, unavailable } from '../values/problem.js';
import { SecretNotDecrypted } from '../values/secret-box.js';

/** Occurs in the context of a lock timeout if the other transaction has used the same idempotency key. */
const lockedKey = /\bevent_keys\b/;
/** PostgreSQL's class of codes for a full disk, too little memory and so on. The statement was rolled back. */
const outOfResources = /^53/;
/** PostgreSQL's class of codes for a transaction that it rolled back because of another one, such as a deadlock. */
const rolledBack = /^40/;

/** Turns any error thrown while handling a request into a problem. */
export function problemOf(error: unknown, bodyLimit: number): Problem {
  if (error instanceof Problem) return error;
  if (errors.isUnreachable(error) || errors.isConnectFailure(error)) {
    return unavailable(
      'The database is unreachable. Try again shortly. A write may have succeeded: repeat it with the same idempotency key.',
      2,
    );
  }
  const { code = '', where = '' } = error as { code?: string; where?: string };
  const refusal = errors.refusalOf(error);
  if (refusal) return refusal.isMoving ? organizationMoving() : organizationElsewhere(refusal.cell);
  if (outOfResources.test(code)) {
    return unavailable(
      'The database has run out of disk space or memory. Nothing was changed. Try again later.',
      5,
    );
  }
  if (errors.isLockTimeout(error)) {
    return unavailable(
      lockedKey.test(where)
        ? 'Another transaction has used the same idempotency key and is still open. Nothing was recorded. Try again.'
        : 'Another write for this organization is taking a long time. Nothing was changed. Try again.',
    );
  }
  if (errors.isCanceled(error)) {
    return unavailable(
      'The database canceled the request because it took too long. Nothing was changed. Try again.',
    );
  }
  if (rolledBack.test(code)) {
    return unavailable('The request conflicted with another write. Nothing was changed. Try again.');
  }
  if (error instanceof SecretNotDecrypted) {
    return unavailable(
      "The webhook's secret or headers were encrypted with a key that the service no longer has. Ask the operator " +
        'to restore the key, or call rotate-secret and set the headers again.',
      60,
    );
  }
  switch ((error as FastifyError).code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem('body_too_large', `The body must not be larger than ${bodyLimit} bytes.`);
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Problem(
        'unsupported_media_type',
        'Send the body as JSON, with Content-Type: application/json.',
      );
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Problem('malformed_request', 'Content-Length does not match the body.');
    case 'FST_ERR_BAD_URL':
      return new Problem('malformed_request', 'The path contains a percent-encoding that cannot be decoded.');
    default:
      return new Problem('internal', 'The error was logged. If you report it, include the request ID.');
  }
}

function problemBody(problem: Problem, instance: string, requestId: string): string {
  return JSON.stringify({
    type: `/docs#problem-${problem.code}`,
    title: problems[problem.code].title,
    status: problem.status,
    detail: problem.message,
    instance,
    code: problem.code,
    request_id: requestId,
    ...(problem.faults.length > 0 && { errors: problem.faults }),
    ...(problem.possibleMoves && { possible_moves: problem.possibleMoves }),
    ...(problem.cell !== undefined && { cell: problem.cell }),
  });
}

export function sendProblem(problem: Problem, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const instance = request.url.split('?', 1)[0] ?? '/';
  linger(request, reply);
  return reply
    .status(problem.status)
    .headers(problem.headers)
    .header('Cache-Control', 'no-store')
    .type('application/problem+json')
    .send(problemBody(problem, instance, request.id));
}

const lingerIdleMs = 1_000;
const lingerTotalMs = 10_000;

/**
 * Reads the rest of a request that is refused before all of it has arrived, and closes the connection only then. A
 * client that sends everything before it reads would otherwise see a broken connection instead of the response. If the
 * connection stays open, Node reads the rest anyway.
 */
function linger({ raw }: FastifyRequest, reply: FastifyReply): void {
  const response = reply.raw;
  const isClosing = !response.shouldKeepAlive || reply.getHeader('connection') === 'close';
  if (raw.complete || !isClosing) return;
  reply.removeHeader('connection');
  // Without these two, Node closes the connection as soon as the response is written.
  response.shouldKeepAlive = true;
  response.removeHeader('connection');
  const close = () => {
    clearTimeout(idle);
    clearTimeout(total);
    if (response.writableFinished) raw.socket.destroySoon();
    else response.once('finish', () => raw.socket.destroySoon());
  };
  const idle = setTimeout(close, lingerIdleMs);
  const total = setTimeout(close, lingerTotalMs);
  raw.on('data', () => idle.refresh());
  raw.once('end', close).once('close', close).resume();
}

/** Responds to input that is not HTTP with an error in the usual format, then closes the connection. */
export class MalformedHttp {
  /** The response that each connection waits for, or got last. */
  readonly #latest = new WeakMap<Socket, ServerResponse>();

  /** Returns a handler that also remembers which response a connection waits for. */
  watch(handle: RequestListener): RequestListener {
    return (request, response) => {
      this.#latest.set(request.socket, response);
      handle(request, response);
    };
  }

  respond(error: NodeJS.ErrnoException, socket: Socket): void {
    const response = this.#latest.get(socket);
    const isBeingWritten = response?.headersSent === true && !response.writableFinished;
    if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable || isBeingWritten) {
      socket.destroy();
      return;
    }
    // The rest of a request that has been refused gets no second response.
    if (response?.headersSent === true && !response.req.complete) {
      socket.destroySoon();
      return;
    }
    const { status, detail } = kindOf(error);
    const requestId = randomUUID();
    const body = problemBody(new Problem('malformed_request', detail), '/', requestId);
    const text = body.replace('"status":400', `"status":${status}`);
    socket.end(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/problem+json\r\nX-Request-Id: ${requestId}\r\n` +
        `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
    );
  }
}

function kindOf({ code }: NodeJS.ErrnoException): { status: number; detail: string } {
  if (code === 'HPE_HEADER_OVERFLOW') return { status: 431, detail: 'The headers are too large.' };
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { status: 408, detail: 'The request did not arrive in time.' };
  return { status: 400, detail: 'The request is not well-formed HTTP.' };
}
