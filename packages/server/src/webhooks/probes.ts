import { randomBytes } from 'node:crypto';
import { referenceColumns, verificationText } from '../events/event.js';
import type { RecordedBatch, Room } from '../events/recording-store.js';
import { diagnose } from '../outcomes/diagnosis.js';
import { factsOf, isDelivered, keptHeaders, type Outcome } from '../outcomes/outcome.js';
import { attempt, type Sender } from '../sending/attempt.js';
import { type Message, shownHeaders } from '../sending/request.js';
import { newId, type Reference } from '../values/identifier.js';
import type { SecretBox } from '../values/secret-box.js';
import { targetOf } from './directory.js';
import { bodyText, contentTypeOf } from './format.js';
import { serviceActor, type VerificationFailure, type Webhook } from './webhook.js';
import type { WebhookKey } from './webhook-store.js';

/** A test event: the sample of a type, and who sends it. */
export interface TestEvent {
  type: string;
  sample: unknown;
  subject: Reference;
  actor: Reference;
}

const chatVerification = 'This verifies a Posthorn webhook. Events follow in messages like this one.';

interface ProbeParts {
  sender: Sender;
  secrets: SecretBox;
  timeoutMs: number;
  limits: { readonly verificationMs: number };
}

/** Sends requests that belong to no delivery: verifications and test events. */
export class Probes {
  readonly #parts: ProbeParts;

  constructor(parts: ProbeParts) {
    this.#parts = parts;
  }

  /** Sends the signed verification request. Returns undefined if a 200 arrives in time. */
  async verify(webhook: Webhook): Promise<VerificationFailure | undefined> {
    const data = { webhook_id: webhook.id, challenge: randomBytes(24).toString('base64url') };
    const head = this.#headOf(webhook, 'webhook.verification');
    const isChat = webhook.format === 'slack';
    const message = {
      id: head.id,
      subject: { type: 'webhook', id: webhook.id },
      actor: serviceActor,
      body: Buffer.from(isChat ? JSON.stringify({ text: chatVerification }) : verificationText(head, data)),
    };
    const asEnvelope = { ...webhook, format: 'envelope' as const };
    const outcome = await this.#send(asEnvelope, message, this.#parts.limits.verificationMs);
    const { error, ...facts } = factsOf(outcome, new URL(webhook.url));
    return facts.http_status === 200 ? undefined : { reason: error ?? 'unexpected_status', ...facts };
  }

  /** Sends a sample once, marked as a test. It is stored neither as an event nor as a delivery. */
  async test(webhook: Webhook, { type, sample, subject, actor }: TestEvent) {
    const attemptedAt = new Date(this.#parts.sender.now());
    const head = this.#headOf(webhook, type);
    const deliveryId = newId('WDLV', attemptedAt.getTime());
    const event = { ...head, payload: JSON.stringify(sample), ...referenceColumns(actor, subject) };
    const body = bodyText(webhook, event, true);
    const message = { id: head.id, subject, actor, delivery: { id: deliveryId, attempt: 1 } };
    const outcome = await this.#send(webhook, { ...message, body: Buffer.from(body) }, this.#parts.timeoutMs);
    const facts = factsOf(outcome, new URL(webhook.url));
    const { http_status, error, response } = facts;
    const { url, secret_rotated_at: secretRotatedAt } = webhook;
    const about = { deliveryId, url, secretRotatedAt, bodyBytes: Buffer.byteLength(body) };
    const { error_detail, remedy } = isDelivered(outcome)
      ? { error_detail: null, remedy: null }
      : diagnose({ purpose: 'test', attempted_at: attemptedAt, ...facts, ...about });
    const sent = {
      contentType: contentTypeOf(webhook.format),
      userAgent: this.#parts.sender.userAgent,
      at: attemptedAt,
      customNames: webhook.header_names,
    };
    return {
      id: deliveryId,
      webhook_id: webhook.id,
      event_id: head.id,
      event_type: type,
      status: isDelivered(outcome) ? ('success' as const) : ('failed' as const),
      http_status,
      response_time_ms: facts.duration_ms,
      error,
      attempted_at: attemptedAt.toISOString(),
      error_detail,
      remedy,
      response,
      response_headers: outcome.kind === 'response' ? keptHeaders(outcome.headers) : {},
      request: { url, headers: shownHeaders(message, sent), body },
    };
  }

  #headOf({ organization_id, workspace_id }: Webhook, type: string) {
    const nowMs = this.#parts.sender.now();
    return { id: newId('EVT', nowMs), type, created_at: new Date(nowMs), organization_id, workspace_id };
  }

  async #send(webhook: Webhook, message: Message & { body: Buffer }, timeoutMs: number): Promise<Outcome> {
    const outcome = await attempt(
      this.#parts.sender,
      targetOf(webhook, this.#parts.secrets),
      message,
      timeoutMs,
    );
    // A probe is not retried, so it fails even if the only problem is that this machine is out of resources.
    return outcome.kind === 'withheld' ? { kind: 'no_response', error: 'connect', durationMs: 0 } : outcome;
  }
}

/** What the public API needs from the part of the service that sends requests to receivers. */
export interface DeliveryControl extends Pick<Probes, 'verify' | 'test'> {
  /** Returns the room for deliveries of events that the API records. `accept` takes the deliveries that fit. */
  room: () => Room;
  accept: (batch: RecordedBatch) => void;
  /** Ends the waiting deliveries of a disabled webhook. */
  endWaiting: (webhook: WebhookKey) => Promise<void>;
  /** Resolves when no node will send anything more to the webhook with its old configuration. */
  forgetEverywhere: (webhook: WebhookKey) => Promise<void>;
}
