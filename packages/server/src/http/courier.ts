import type { Receipt } from '../domain/receipt.js';
import type { VerificationFailure, Webhook } from '../domain/webhook.js';
import type { TestEvent } from '../sending/prober.js';
import type { RecordedBatch } from '../storage/recording.js';
import type { Room } from '../storage/room.js';
import type { WebhookKey } from '../storage/webhooks.js';

/** What the public API needs of whoever sends requests to receivers. */
export interface Courier {
  /** Undefined where the webhook answered as it should. */
  verify: (webhook: Webhook) => Promise<VerificationFailure | undefined>;
  test: (webhook: Webhook, event: TestEvent) => Promise<Receipt>;
  /** Where deliveries of events recorded here go, and who takes those that stay. */
  room: () => Room;
  accept: (batch: RecordedBatch) => void;
  /** Resolves once nothing waits any more for a webhook that is disabled. */
  endWaiting: (webhook: WebhookKey) => Promise<void>;
  /** Resolves once no node will send anything more for this webhook as it was. */
  forgetEverywhere: (webhook: WebhookKey) => Promise<void>;
}
