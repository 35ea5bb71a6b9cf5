import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { storeWithWrite } from '../access/idempotency.js';
import { changesBetween } from '../audit/audit.js';
import { auditedWrite, writeAudit } from '../audit/audit-store.js';
import type { Database } from '../postgres/database.js';
import { durationPattern, parseDurationMs } from '../values/duration.js';
import type { InputFault } from '../values/problem.js';
import type { SecretBox } from '../values/secret-box.js';
import type { DeliveryControl } from './probes.js';
import type { Webhook } from './webhook.js';
import { webhookEntry } from './webhook-audit.js';
import { findWebhook, noWebhook, webhookBody } from './webhook-lookup.js';
import { RotatedWebhookSchema, SecretField, webhookParams } from './webhook-schemas.js';
import { changeWebhook } from './webhook-store.js';

const graceMsMax = 30 * 86_400_000;

const RotateBody = Type.Object(
  {
    secret: Type.Optional(SecretField),
    grace: Type.Optional(
      Type.String({
        default: '24h',
        'x-documented': { pattern: durationPattern },
        description: 'How long the old secret stays valid: a duration, at most `30d`.',
        examples: ['24h'],
      }),
    ),
  },
  { additionalProperties: false },
);

export interface SecretRouteOptions {
  database: Database;
  secrets: SecretBox;
  control: DeliveryControl;
  now: () => number;
}

/** Adds `POST /v1/webhooks/{id}/rotate-secret`. */
export function webhookSecretRoute(
  app: FastifyInstance,
  { database, secrets, control, now }: SecretRouteOptions,
): void {
  app.post<{ Body: Static<typeof RotateBody> | undefined }>(
    '/v1/webhooks/:webhook_id/rotate-secret',
    {
      config: {
        scopes: ['webhooks:write'],
        check: (request) => [...secretFaults(request.body), ...graceFaults(request)],
        idempotent: true,
        bodyIsOptional: true,
      },
      schema: {
        operationId: 'rotateSecret',
        tags: ['Webhooks'],
        summary: 'Rotate the secret',
        description:
          'Replaces the secret of the webhook. During the grace period, requests are signed with both secrets: ' +
          '`X-Service-Signature` uses the new one, ' +
          '`X-Service-Signature-Previous` the old one, and `webhook-signature` has both signatures.',
        params: webhookParams,
        body: RotateBody,
        response: { 200: Type.Object({ data: RotatedWebhookSchema }) },
      },
    },
    async (request) => {
      const { secret: given, grace } = request.body ?? {};
      const graceMs = parseDurationMs(grace ?? '24h') ?? 0;
      const secret = given ?? generatedSecret();
      const changed = await auditedWrite(database, request.token.organization_id, async (client) => {
        const webhook = await findWebhook(client, request, true);
        const before = secretBefore(webhook, given, secrets, now());
        const previous_secret = graceMs > 0 ? before : null;
        const previous_secret_until = previous_secret && new Date(now() + graceMs);
        const rotated = await changeWebhook(client, webhook, {
          secret: secrets.seal(secret, webhook.id),
          previous_secret,
          previous_secret_until,
        });
        if (!rotated) throw noWebhook();
        const { previous_secret_until: untilBefore } = webhook;
        const changes = changesBetween({ previous_secret_until: untilBefore }, { previous_secret_until });
        await writeAudit(client, [webhookEntry(request, webhook, 'webhook.secret_rotated', changes)]);
        await storeWithWrite(client, request, { status: 200, body: { data: webhookBody(rotated) } });
        return rotated;
      });
      await control.forgetEverywhere(changed);
      return { data: { ...webhookBody(changed), ...(given === undefined && { secret }) } };
    },
  );
}

/** Returns the secret that stays valid during the grace period, as it is stored; null if there is none. */
function secretBefore(
  webhook: Webhook,
  given: string | undefined,
  secrets: SecretBox,
  nowMs: number,
): Buffer | null {
  try {
    // A request that is repeated because its response was lost must not replace the secret that receivers still use.
    const isRepeated = secrets.open(webhook.secret, webhook.id) === given;
    return isRepeated ? validPrevious(webhook, nowMs) : webhook.secret;
  } catch {
    // No key decrypts the stored secret, so nothing can be signed with it. A rotation is the way out.
    return null;
  }
}

/** Returns the previous secret while its grace period lasts. */
function validPrevious({ previous_secret, previous_secret_until }: Webhook, nowMs: number) {
  return previous_secret_until && previous_secret_until.getTime() > nowMs ? previous_secret : null;
}

export function generatedSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/**
 * Returns a fault for a `whsec_` secret in URL-safe base64: Standard Webhooks libraries decode it differently, so
 * signatures would match in some and not in others.
 */
export function secretFaults(body: unknown): readonly InputFault[] {
  const secret = (body as { secret?: unknown } | undefined)?.secret;
  if (typeof secret !== 'string' || !/^whsec_(?=.*[-_])[\w-]+={0,2}$/.test(secret)) return [];
  const detail =
    'must use + and / instead of - and _ after whsec_: Standard Webhooks libraries decode URL-safe base64 differently';
  return [{ pointer: '/secret', code: 'not_standard_base64', detail }];
}

function graceFaults(request: FastifyRequest): readonly InputFault[] {
  const grace = (request.body as { grace?: unknown } | undefined)?.grace;
  if (typeof grace !== 'string') return [];
  const ms = parseDurationMs(grace);
  if (ms !== undefined && ms <= graceMsMax) return [];
  const detail =
    'must be a duration such as 24h, at most 30d; with 0s, the old secret stops working immediately';
  return [{ pointer: '/grace', code: 'invalid_duration', detail }];
}
