import { randomBytes } from 'node:crypto';
import type { Outcome, Receipt } from '../domain/delivery.js';
import { envelopeText } from '../domain/envelope.js';
import { newId } from '../domain/identifier.js';
import type { SecretBox } from '../domain/secret-box.js';
import type { VerificationFailure, Webhook } from '../domain/webhook.js';
import { attempt, type Sender } from './attempt.js';
import { targetOf } from './target.js';

/** Requests that belong to no delivery: the verification of a webhook, and test events. */
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

  /** Sends the signed verification request; exactly 200 in time counts. Undefined where it did. */
  async verify(webhook: Webhook): Promise<VerificationFailure | undefined> {
    const challenge = randomBytes(24).toString('base64url');
    const payload = JSON.stringify({ webhook_id: webhook.id, challenge });
    const { verificationMs } = this.#limits;
    const { outcome } = await this.#send(webhook, 'webhook.verification', payload, verificationMs, false);
    if (outcome.kind === 'answered' && outcome.httpStatus === 200) return undefined;
    const answered = outcome.kind === 'answered';
    return {
      reason: answered ? 'unexpected_status' : outcome.error,
      http_status: answered ? outcome.httpStatus : null,
      duration_ms: outcome.durationMs,
      response: answered ? outcome.response : null,
    };
  }

  /** One signed attempt of a sample, marked as a test; it leaves no trace in the stream or the deliveries. */
  async test(webhook: Webhook, type: string, sample: unknown): Promise<Receipt> {
    const attemptedAt = new Date(this.#sender.now());
    const payload = JSON.stringify(sample);
    const { outcome, eventId, deliveryId } = await this.#send(webhook, type, payload, this.#timeoutMs, true);
    const answered = outcome.kind === 'answered';
    return {
      id: deliveryId,
      webhook_id: webhook.id,
      event_id: eventId,
      event_type: type,
      status: answered && outcome.httpStatus >= 200 && outcome.httpStatus <= 299 ? 'success' : 'failed',
      http_status: answered ? outcome.httpStatus : null,
      response_time_ms: outcome.durationMs,
      error: answered ? null : outcome.error,
      attempted_at: attemptedAt.toISOString(),
    };
  }

  async #send(
    webhook: Webhook,
    type: string,
    payload: string,
    timeoutMs: number,
    test: boolean,
  ): Promise<{ outcome: Outcome; eventId: string; deliveryId: string }> {
    const nowMs = this.#sender.now();
    const [eventId, deliveryId] = [newId('EVT', nowMs), newId('WDLV', nowMs)];
    const head = {
      id: eventId,
      type,
      created_at: new Date(nowMs),
      organization_id: webhook.organization_id,
      workspace_id: webhook.workspace_id,
    };
    const body = Buffer.from(envelopeText(head, payload, test));
    const message = { id: eventId, body, ...(test && { delivery: { id: deliveryId, attempt: 1 } }) };
    const outcome = await attempt(this.#sender, targetOf(webhook, this.#secrets), message, timeoutMs);
    // Nobody comes back to a probe: it failed, if only for want of a connection of our own.
    if (outcome.kind === 'withheld')
      return { outcome: { kind: 'unanswered', error: 'connect', durationMs: 0 }, eventId, deliveryId };
    return { outcome, eventId, deliveryId };
  }
}
