import type { RecordedBatch } from '../events/recording-store.js';
import type { Room } from '../events/room.js';
import type { TestEvent } from './prober.js';
import type { TestResult } from './test-result.js';
import type { VerificationFailure, Webhook } from './webhook.js';
import type { WebhookKey } from './webhook-store.js';

/** What the public API needs from the part of the service that sends requests to receivers. */
export interface DeliveryControl {
  /** Returns undefined if the webhook was verified. */
  verify: (webhook: Webhook) => Promise<VerificationFailure | undefined>;
  test: (webhook: Webhook, event: TestEvent) => Promise<TestResult>;
  /** Returns the room for deliveries of events that the API records. `accept` takes the deliveries that fit. */
  room: () => Room;
  accept: (batch: RecordedBatch) => void;
  /** Ends the waiting deliveries of a disabled webhook. */
  endWaiting: (webhook: WebhookKey) => Promise<void>;
  /** Resolves when no node will send anything more to the webhook with its old configuration. */
  forgetEverywhere: (webhook: WebhookKey) => Promise<void>;
}
