import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { organizationElsewhere, organizationMoving } from '../cells/relocation.js';
import {
  isCanceled,
  isConnectFailure,
  isLockTimeout,
  isUnreachable,
  refusalOf,
} from '../postgres/database-errors.js';
import { Problem, problems } from '../values/problem.js';
import { SecretNotDecrypted } from '../values/secret-box.js';
import { linger } from './linger.js';

/** Occurs in the context of a lock timeout if the other transaction has used the same idempotency key. */
const lockedKey = /\bevent_keys\b/;
/** PostgreSQL's class of codes for a full disk, too little memory and so on. The statement was rolled back. */
const outOfResources = /^53/;
/** PostgreSQL's class of codes for a transaction that it rolled back because of another one, such as a deadlock. */
const rolledBack = /^40/;

/** Turns any error thrown while handling a request into a problem. */
export function problemOf(error: unknown, bodyLimit: number): Problem {
  if (error instanceof Problem) return error;
  if (isUnreachable(error) || isConnectFailure(error)) {
    return new Problem(
      'unavailable',
      'The database is unreachable. Try again shortly. A write may have succeeded: repeat it with the same idempotency key.',
      {
        headers: { 'Retry-After': '2' },
      },
    );
  }
  const { code = '', where = '' } = error as { code?: string; where?: string };
  const refusal = refusalOf(error);
  if (refusal) return refusal.isMoving ? organizationMoving() : organizationElsewhere(refusal.cell);
  if (outOfResources.test(code)) {
    return new Problem(
      'unavailable',
      'The database has run out of disk space or memory. Nothing was changed. Try again later.',
      { headers: { 'Retry-After': '5' } },
    );
  }
  if (isLockTimeout(error)) {
    return new Problem(
      'unavailable',
      lockedKey.test(where)
        ? 'Another transaction has used the same idempotency key and is still open. Nothing was recorded. Try again.'
        : 'Another write for this organization is taking a long time. Nothing was changed. Try again.',
      { headers: { 'Retry-After': '1' } },
    );
  }
  if (isCanceled(error)) {
    return new Problem(
      'unavailable',
      'The database canceled the request because it took too long. Nothing was changed. Try again.',
      { headers: { 'Retry-After': '1' } },
    );
  }
  if (rolledBack.test(code)) {
    return new Problem(
      'unavailable',
      'The request conflicted with another write. Nothing was changed. Try again.',
      {
        headers: { 'Retry-After': '1' },
      },
    );
  }
  if (error instanceof SecretNotDecrypted) {
    return new Problem(
      'unavailable',
      "The webhook's secret or headers were encrypted with a key that the service no longer has. Ask the operator " +
        'to restore the key, or call rotate-secret and set the headers again.',
      { headers: { 'Retry-After': '60' } },
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

export function problemBody(problem: Problem, instance: string, requestId: string): string {
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
