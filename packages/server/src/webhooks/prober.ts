import { randomBytes } from 'node:crypto';
import { envelopeText, verificationText } from '../events/envelope.js';
import { diagnose } from '../outcomes/diagnosis.js';
import { evidenceOf, keptHeaders } from '../outcomes/evidence.js';
import { isDelivered, type Outcome } from '../outcomes/outcome.js';
import { attempt, type Sender } from '../sending/attempt.js';
import { type Message, shownHeaders } from '../sending/message-headers.js';
import type { Reference } from '../values/identifier.js';
import { newId } from '../values/identifier.js';
import type { SecretBox } from '../values/secret-box.js';
import { serviceActor } from './service-event.js';
import { targetOf } from './target.js';
import type { TestResult } from './test-result.js';
import type { VerificationFailure, Webhook } from './webhook.js';

/** A test event: the sample of a type, and who sends it. */
export interface TestEvent {
  type: string;
  sample: unknown;
  subject: Reference;
  actor: Reference;
}

/** Sends requests that belong to no delivery: verifications and test events. */
export class Prober {
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
    const message = {
      id: head.id,
      subject: { type: 'webhook', id: webhook.id },
      actor: serviceActor,
      body: Buffer.from(verificationText(head, data)),
    };
    const outcome = await this.#send(webhook, message, this.#limits.verificationMs);
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
  async test(webhook: Webhook, { type, sample, subject, actor }: TestEvent): Promise<TestResult> {
    const attemptedAt = new Date(this.#sender.now());
    const head = this.#headOf(webhook, type);
    const deliveryId = newId('WDLV', attemptedAt.getTime());
    const body = envelopeText(head, JSON.stringify(sample), true);
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
    const sent = { userAgent: this.#sender.userAgent, at: attemptedAt, customNames: webhook.header_names };
    return {
      id: deliveryId,
      webhook_id: webhook.id,
      event_id: head.id,
      event_type: type,
      status: isDelivered(outcome) ? 'success' : 'failed',
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
