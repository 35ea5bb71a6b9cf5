import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { verificationText } from '../events/event.js';
import type { RecordedBatch, Room } from '../events/recording-store.js';
import { diagnose } from '../outcomes/diagnosis.js';
import { evidenceOf, isDelivered, keptHeaders, type Outcome } from '../outcomes/outcome.js';
import type { Database } from '../postgres/database.js';
import { refusalOf } from '../postgres/database-errors.js';
import { attempt, type Sender } from '../sending/attempt.js';
import { type Message, shownHeaders } from '../sending/request.js';
import { Repeating } from '../signals/repeating.js';
import { newId, type Reference } from '../values/identifier.js';
import type { SecretBox } from '../values/secret-box.js';
import { targetOf } from './directory.js';
import { bodyText, contentTypeOf } from './format.js';
import { settleVerification, takeDueVerifications } from './probe-store.js';
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

/** Sends requests that belong to no delivery: verifications and test events. */
export class Probes {
  readonly #sender: Sender;
  readonly #secrets: SecretBox;
  readonly #timeoutMs: number;
  readonly #limits: { readonly verificationMs: number };

  constructor(
    sender: Sender,
    secrets: SecretBox,
    timeoutMs: number,
    limits: { readonly verificationMs: number },
  ) {
    this.#sender = sender;
    this.#secrets = secrets;
    this.#timeoutMs = timeoutMs;
    this.#limits = limits;
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
    const outcome = await this.#send(asEnvelope, message, this.#limits.verificationMs);
    const hasResponse = outcome.kind === 'response';
    if (hasResponse && outcome.httpStatus === 200) return undefined;
    return {
      reason: hasResponse ? 'unexpected_status' : outcome.error,
      http_status: hasResponse ? outcome.httpStatus : null,
      duration_ms: outcome.durationMs,
      response: hasResponse ? outcome.response : null,
      evidence: evidenceOf(outcome, new URL(webhook.url)),
    };
  }

  /** Sends a sample once, marked as a test. It is stored neither as an event nor as a delivery. */
  async test(webhook: Webhook, { type, sample, subject, actor }: TestEvent) {
    const attemptedAt = new Date(this.#sender.now());
    const head = this.#headOf(webhook, type);
    const deliveryId = newId('WDLV', attemptedAt.getTime());
    const event = {
      ...{ ...head, payload: JSON.stringify(sample) },
      ...{ actor_type: actor.type, actor_id: actor.id, subject_type: subject.type, subject_id: subject.id },
    };
    const body = bodyText(webhook, event, true);
    const message = { id: head.id, subject, actor, delivery: { id: deliveryId, attempt: 1 } };
    const outcome = await this.#send(webhook, { ...message, body: Buffer.from(body) }, this.#timeoutMs);
    const hasResponse = outcome.kind === 'response';
    const facts = {
      http_status: hasResponse ? outcome.httpStatus : null,
      error: hasResponse ? null : outcome.error,
      response: hasResponse ? outcome.response : null,
    };
    const { error_detail, remedy } = isDelivered(outcome)
      ? { error_detail: null, remedy: null }
      : diagnose({
          purpose: 'test',
          attemptedAt,
          deliveryId,
          url: webhook.url,
          bodyBytes: Buffer.byteLength(body),
          httpStatus: facts.http_status,
          error: facts.error,
          response: facts.response,
          durationMs: outcome.durationMs,
          evidence: evidenceOf(outcome, new URL(webhook.url)),
        });
    const sent = {
      contentType: contentTypeOf(webhook.format),
      userAgent: this.#sender.userAgent,
      at: attemptedAt,
      customNames: webhook.header_names,
    };
    return {
      id: deliveryId,
      webhook_id: webhook.id,
      event_id: head.id,
      event_type: type,
      status: isDelivered(outcome) ? ('success' as const) : ('failed' as const),
      http_status: facts.http_status,
      response_time_ms: outcome.durationMs,
      error: facts.error,
      attempted_at: attemptedAt.toISOString(),
      error_detail,
      remedy,
      response: facts.response,
      response_headers: hasResponse ? keptHeaders(outcome.headers) : {},
      request: { url: webhook.url, headers: shownHeaders(message, sent), body },
    };
  }

  #headOf({ organization_id, workspace_id }: Webhook, type: string) {
    const nowMs = this.#sender.now();
    return { id: newId('EVT', nowMs), type, created_at: new Date(nowMs), organization_id, workspace_id };
  }

  async #send(webhook: Webhook, message: Message & { body: Buffer }, timeoutMs: number): Promise<Outcome> {
    const outcome = await attempt(this.#sender, targetOf(webhook, this.#secrets), message, timeoutMs);
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

export interface VerificationsOptions
  extends Pick<DeliveryControl, 'verify' | 'room' | 'accept' | 'forgetEverywhere'> {
  database: Database;
  logger: Logger;
  now: () => number;
  everyMs: number;
}

const atOnce = 20;

/** Verifies unverified webhooks again, on schedule. */
export class Verifications {
  readonly #options: VerificationsOptions;
  readonly #repeating: Repeating;

  constructor(options: VerificationsOptions) {
    this.#options = options;
    this.#repeating = new Repeating(options.everyMs, () => this.verifyDue(), options.logger);
  }

  async verifyDue(): Promise<void> {
    const { database, now } = this.#options;
    const due = await takeDueVerifications(database, new Date(now()), atOnce);
    await Promise.all(due.map((webhook) => this.#verify(webhook)));
  }

  async #verify(webhook: Webhook): Promise<void> {
    const { database, now, verify, room, accept, forgetEverywhere } = this.#options;
    const failure = await verify(webhook);
    const settled = await database
      .transaction((client) =>
        settleVerification(client, webhook, failure, new Date(now()), room(), { automatic: true }),
      )
      .catch((error) => {
        // The organization is moving to another cell. When the move ends, the webhook is verified again.
        if (!refusalOf(error)) throw error;
      });
    if (settled?.batch) accept(settled.batch);
    if (settled?.webhook.status === 'active') await forgetEverywhere(webhook);
  }

  async stop(): Promise<void> {
    await this.#repeating.stop();
  }
}
