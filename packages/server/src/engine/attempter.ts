import type { Logger } from 'pino';
import type { StoredEvent } from '../events/event.js';
import type { LeasedDelivery } from '../events/recording-store.js';
import { diagnose } from '../outcomes/diagnosis.js';
import type { NextAttempt } from '../outcomes/failed-attempt.js';
import { factsOf, isDelivered, type Outcome, type Withheld } from '../outcomes/outcome.js';
import { judge, type Verdict } from '../outcomes/retry-schedule.js';
import { attempt, type Sender, type Target } from '../sending/attempt.js';
import type { Message } from '../sending/request.js';
import type { WebhookDirectory, WebhookState } from '../webhooks/directory.js';
import { deliveryFailed } from '../webhooks/webhook.js';
import type { Began } from './health.js';
import type { Lanes, Turn } from './lanes.js';
import type { NodeLease } from './lease.js';
import { limits } from './limits.js';
import type { Ended } from './policy.js';
import { attempted, givenBack, givenUp } from './settlement-store.js';
import type { Entry, Settler } from './settler.js';

export interface AttempterOptions {
  directory: WebhookDirectory;
  sender: Sender;
  logger: Logger;
  /** The wait after each failed attempt except the last one, for webhooks without their own. */
  retryScheduleMs: readonly number[];
  /** How long one attempt may take. */
  timeoutMs: number;
  /** Returns a number in [0, 1), which spreads the retries of deliveries that failed together. */
  random: () => number;
  lanes: Lanes;
  lease: NodeLease;
  settler: Settler;
  /** Called when a delivery will be retried after `waitMs`, unless it resumes its schedule. */
  onRetry: (waitMs: number) => void;
  /** Called when a webhook that had to be read may get requests again. */
  onRead: () => void;
  /** Called after each attempt that counts, before its outcome is written. */
  onAttempt: (delivery: LeasedDelivery, outcome: Outcome, verdict: Verdict, webhook: Target) => void;
}

/** Makes attempts: reads the webhook, sends the request, judges the outcome, and passes the result to the settler. */
export class Attempter {
  readonly #options: AttempterOptions;
  /** When this node last logged that it is out of resources. */
  #warnedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: AttempterOptions) {
    this.#options = options;
  }

  /** Attempts the delivery of a turn. Returns how the attempt ended, and never rejects. */
  async run(turn: Turn): Promise<Ended> {
    const node = this.#options.lease.id;
    if (node === undefined) return notAttempted;
    try {
      return await this.#run(turn, node);
    } catch (error) {
      return this.#failed(turn.delivery, node, error as Error);
    }
  }

  async #run(turn: Turn, node: number): Promise<Ended> {
    const { delivery } = turn;
    const { directory, sender, timeoutMs, lanes, lease, settler } = this.#options;
    const webhook = directory.peek(delivery.webhook_id) ?? (await this.#read(turn));
    // While it read the webhook, this node may have been declared dead. Then another node has the delivery.
    if (webhook?.kind !== 'active' || lease.id !== node || !lease.coversAttempt)
      return this.#wait(delivery, node, webhook?.kind ?? 'unread');
    const { target } = webhook;
    const message = messageOf(delivery, target);
    if (message === undefined) {
      settler.add({ node, settlement: { delivery, status: 'cancelled', attempts: delivery.attempts } });
      return notAttempted;
    }
    lanes.limit(turn, lease.shareOf(target.rateLimit));
    const began: Began = { at: new Date(sender.now()), monotonicMs: performance.now() };
    // The webhook may be deleted, disabled or changed while the connection opens.
    const mayStart = () => directory.peek(delivery.webhook_id)?.target === target;
    const span = sender.tracer?.attempt(delivery);
    const sent = span ? { ...message, traceparent: span.traceparent } : message;
    const ended = await attempt(sender, target, sent, timeoutMs, mayStart);
    const tookMs = performance.now() - began.monotonicMs;
    // Once the settler has stopped, outcomes cannot be written. An attempt that ends then has most likely failed
    // because the shutdown closes the connections to receivers.
    const outcome: Outcome | Withheld = settler.isStopped ? { kind: 'withheld', reason: 'shutdown' } : ended;
    span?.end(outcome);
    if (outcome.kind === 'withheld') return this.#wait(delivery, node, outcome.reason);
    this.#judge(delivery, node, outcome, began, target);
    return { kind: isDelivered(outcome) ? 'delivered' : 'failed', tookMs };
  }

  #judge(delivery: LeasedDelivery, node: number, outcome: Outcome, began: Began, target: Target): void {
    const { retryScheduleMs, random, settler, onRetry, onAttempt } = this.#options;
    const verdict = judge(outcome, delivery.scheduled, target.retryScheduleMs ?? retryScheduleMs, random());
    const describe = () => causeOf(delivery, outcome, verdict, began.at, target);
    settler.health.note(delivery, outcome, began, verdict.kind === 'delivered' ? undefined : describe);
    const entry: Entry = { node, settlement: attempted(delivery, outcome, verdict, began.at, target.url) };
    if (verdict.kind === 'gone') entry.gone = target;
    if (verdict.kind === 'given_up') entry.event = deliveryFailed(target, givenUp(entry.settlement));
    if (verdict.kind === 'retry' && verdict.waitMs !== undefined) onRetry(verdict.waitMs);
    onAttempt(delivery, outcome, verdict, target);
    // Last: after an error in the lines above, the delivery is given back instead, and must not be settled twice.
    settler.add(entry);
  }

  /**
   * Reads the webhook of a turn, and holds the turn's lane meanwhile. If the rate limit has changed, a whole window of
   * requests could otherwise start before the new limit is known.
   */
  async #read(turn: Turn): Promise<WebhookState | undefined> {
    const { directory, lanes, onRead } = this.#options;
    const { organization_id, webhook_id } = turn.delivery;
    lanes.hold(turn.lane, 'read');
    const webhook = await directory.get(organization_id, webhook_id).catch(() => undefined);
    if (webhook) lanes.limit(turn, this.#options.lease.shareOf(webhook.target?.rateLimit));
    lanes.release(turn.lane, 'read');
    onRead();
    return webhook;
  }

  /**
   * Puts a delivery that cannot be attempted now back into the database, where it waits. Once the settler has stopped,
   * this writes nothing: the delivery goes back when this node releases its leases.
   */
  #wait(delivery: LeasedDelivery, node: number, reason: Reason): Ended {
    if (reason === 'out_of_resources') this.#warnOutOfResources();
    if (reason === 'shutdown') this.#logCutOff(delivery);
    const waitMs: Record<Reason, number> = {
      unread: 0,
      active: 0,
      recalled: 0,
      sealed: limits.sealedWaitMs,
      out_of_resources: limits.outOfResourcesWaitMs,
      shutdown: 0,
      // Settling holds or ends the delivery. It waits this long only if the webhook has become active again.
      inactive: limits.trustMs,
    };
    this.#giveBack(delivery, node, waitMs[reason]);
    return notAttempted;
  }

  #warnOutOfResources(): void {
    if (performance.now() - this.#warnedAtMs <= limits.outOfResourcesWaitMs) return;
    this.#warnedAtMs = performance.now();
    this.#options.logger.error(
      'cannot open another connection, so deliveries are waiting: raise the limit on open files (ulimit -n)',
    );
  }

  #logCutOff({ delivery_id, webhook_id, organization_id, event_id, type, attempts }: LeasedDelivery): void {
    this.#options.logger.info(
      { delivery_id, webhook_id, organization_id, event_id, type, attempt: attempts + 1 },
      'the shutdown interrupted an attempt; it does not count and will be repeated',
    );
  }

  /** Handles an unexpected error, which is a bug. The delivery will be attempted again. Others are not affected. */
  #failed(delivery: LeasedDelivery, node: number, error: Error): Ended {
    this.#options.logger.error(
      { delivery_id: delivery.delivery_id, err: error },
      'a delivery could not be attempted',
    );
    this.#giveBack(delivery, node, limits.trustMs);
    return notAttempted;
  }

  /** Puts a delivery back into the database without an attempt. After `waitMs`, any node can claim it. */
  #giveBack(delivery: LeasedDelivery, node: number, waitMs: number): void {
    this.#options.settler.add({ node, settlement: givenBack(delivery, waitMs) });
  }
}

/**
 * Why a delivery cannot be attempted now. `active`: the webhook is ready, but the lease would end too soon. `unread`:
 * the webhook could not be read in time.
 */
type Reason = WebhookState['kind'] | Withheld['reason'] | 'unread';

/** Returns what the `webhook.failing` event contains about a failed attempt. */
function causeOf(
  delivery: LeasedDelivery,
  outcome: Outcome,
  verdict: Verdict,
  attempted_at: Date,
  { url, secretRotatedAt }: Target,
): object {
  const facts = factsOf(outcome, url);
  const { http_status, error, duration_ms } = facts;
  const waitMs = verdict.kind === 'retry' ? (verdict.waitMs ?? 0) : undefined;
  const next: NextAttempt =
    waitMs === undefined
      ? { kind: 'none' }
      : { kind: 'due', at: new Date(attempted_at.getTime() + duration_ms + waitMs) };
  const about = { url: url.href, deliveryId: delivery.delivery_id, secretRotatedAt };
  const { error_detail, remedy } = diagnose({ purpose: 'delivery', next, attempted_at, ...facts, ...about });
  return { error, http_status, error_detail, remedy };
}

const notAttempted: Ended = { kind: 'not attempted' };

/** Returns the next request of a delivery, or undefined if the event no longer exists. */
function messageOf(delivery: LeasedDelivery, target: Target): (Message & { body: Buffer }) | undefined {
  const { event_id: id, subject, actor, payload } = delivery;
  if (payload === null) return undefined;
  // Written field by field: spreads in this object took 8 µs per attempt.
  const event: StoredEvent = {
    id,
    type: delivery.type,
    organization_id: delivery.organization_id,
    workspace_id: delivery.workspace_id,
    actor_type: actor.type,
    actor_id: actor.id,
    subject_type: subject.type,
    subject_id: subject.id,
    payload,
    created_at: delivery.event_created_at,
  };
  return {
    id,
    body: Buffer.from(target.bodyOf(event)),
    subject,
    actor,
    delivery: { id: delivery.delivery_id, attempt: delivery.attempts + 1 },
  };
}
