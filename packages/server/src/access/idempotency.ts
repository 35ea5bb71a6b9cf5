import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Database, Queryable } from '../postgres/database.js';
import { levelFor } from '../signals/reported-error.js';
import { type InputFault, Problem } from '../values/problem.js';
import type { SecretBox } from '../values/secret-box.js';
import { type RequestKey, releaseRequestKey, storeResponse, takeRequestKey } from './idempotency-store.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether this route accepts `Idempotency-Key`. */
    idempotent?: boolean;
  }
  interface FastifyRequest {
    /** The key that this request holds until its response is stored or it fails. */
    heldKey: RequestKey | undefined;
  }
}

const keyPattern = /^[!-~]{1,255}$/;
/** If a request is still running after this time, its process is assumed to have died. */
const abandonedMs = 60_000;
/** Far longer than any path that exists, and short enough for a PostgreSQL index. */
const pathLengthMax = 512;

/**
 * Sends the first response again if a POST is repeated with the same `Idempotency-Key` within 24 h. Stores only
 * successful responses, without secrets. A handler whose write must not be repeated also calls `storeWithWrite`.
 */
export function installIdempotency(app: FastifyInstance, database: Database, secrets: SecretBox): void {
  app.decorateRequest('heldKey', undefined);

  const takeKey = async (request: FastifyRequest, reply: FastifyReply) => {
    const given = request.headers['idempotency-key'];
    if (typeof given !== 'string') return;
    const [path = ''] = request.url.split('?', 1);
    // The handler responds that nothing exists at this path.
    if (path.length > pathLengthMax) return;
    const key: RequestKey = {
      organization_id: request.token.organization_id,
      token_id: request.token.id,
      route: `${request.method} ${path}`,
      key: given,
    };
    // The body can contain a secret, which nobody should be able to guess from a copy of the database.
    const fingerprints = secrets.fingerprints(request.bodyText ?? '');
    const earlier = await takeRequestKey(database, key, fingerprints[0]!, abandonedMs);
    if (!earlier) {
      request.heldKey = key;
      return;
    }
    if (!fingerprints.some((fingerprint) => earlier.fingerprint.equals(fingerprint))) {
      throw new Problem(
        'idempotency_key_reused',
        'This Idempotency-Key was used with a different body. Use a new key for a new request.',
      );
    }
    if (earlier.status === null || earlier.running) {
      throw new Problem(
        'idempotency_in_progress',
        'The first request with this Idempotency-Key is still running.',
        {
          headers: { 'Retry-After': '1' },
        },
      );
    }
    if (earlier.location !== null) reply.header('Location', earlier.location);
    return reply
      .status(earlier.status)
      .header('Idempotency-Replayed', 'true')
      .type('application/json; charset=utf-8')
      .send(earlier.body);
  };

  const store = async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
    const key = request.heldKey;
    if (!key) return payload;
    request.heldKey = undefined;
    if (reply.statusCode >= 200 && reply.statusCode <= 299 && typeof payload === 'string') {
      const location = reply.getHeader('Location');
      const response = {
        status: reply.statusCode,
        body: withoutSecret(JSON.parse(payload)),
        location: location === undefined ? null : String(location),
      };
      // Even if this fails, the request has succeeded, and `storeWithWrite` has already stored a response for repeated
      // requests. A verification does not call `storeWithWrite`, but it is safe to repeat.
      await storeResponse(database, key, response).catch((error) =>
        request.log[levelFor(error)](
          { request_id: request.id, reason: (error as Error).message },
          'the response to a request with an Idempotency-Key could not be stored',
        ),
      );
    } else await releaseRequestKey(database, key).catch(() => undefined);
    return payload;
  };

  app.addHook('onRoute', (route) => {
    if (!route.config?.idempotent) return;
    const { check } = route.config;
    const checkAll = async (request: FastifyRequest) => [
      ...keyFaults(request),
      ...((await check?.(request)) ?? []),
    ];
    route.config = { ...route.config, check: checkAll };
    route.preHandler = takeKey;
    // Before the response is compressed.
    route.onSend = [store, route.onSend ?? []].flat();
  });
}

function keyFaults({ headers: { 'idempotency-key': given } }: FastifyRequest): readonly InputFault[] {
  if (given === undefined || (typeof given === 'string' && keyPattern.test(given))) return [];
  const detail = 'must be 1 to 255 printable characters without spaces, and sent only once';
  return [{ parameter: 'Idempotency-Key', code: 'invalid_key', detail }];
}

function withoutSecret(body: ResponseBody): string {
  const { secret, ...data } = body.data;
  return JSON.stringify({ ...body, data });
}

interface ResponseBody {
  data: Record<string, unknown>;
}

/**
 * Stores the response to a request in the transaction of its write, if the request has an `Idempotency-Key`. If anything
 * fails after the commit, or the process dies, a repeated request gets this response and does not write again.
 */
export async function storeWithWrite(
  client: Queryable,
  request: FastifyRequest,
  response: { status: number; body: { data: object }; location?: string },
): Promise<void> {
  const { status, body, location = null } = response;
  if (!request.heldKey) return;
  await storeResponse(
    client,
    request.heldKey,
    { status, body: withoutSecret(body as ResponseBody), location },
    true,
  );
}
