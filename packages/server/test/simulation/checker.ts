import { limits } from '../../src/engine/limits.js';
import type { LeasedDelivery } from '../../src/events/recording-store.js';
import { isDelivered, type Outcome } from '../../src/outcomes/outcome.js';
import type { SimulatedWebhook, StoredDelivery } from './store.js';

/** A promise that the policy broke. */
class BrokenPromise extends Error {
  override name = 'BrokenPromise';
}

interface OnNode {
  inFlight: number;
  failuresInARow: number;
  /** When requests to a webhook with a rate limit started, the latest second of them. */
  starts: number[];
}

/** Watches every attempt of a run, without looking at the policy's own books. */
export class Checker {
  readonly #attemptsMax: number;
  readonly #isOverAt = new Map<string, number>();
  readonly #inFlight = new Map<number, number>();
  readonly #onNode = new Map<string, OnNode>();
  readonly #lost = new Set<number>();
  /** By delivery: requests, successful responses, and when the first request began. */
  readonly #seen = new Map<string, { requests: number; accepted: number; firstAtMs: number }>();
  requests = 0;
  repeated = 0;

  constructor(attemptsMax: number) {
    this.#attemptsMax = attemptsMax;
  }

  /** Notes that the request that deletes a webhook has its response. */
  deleted(webhook: SimulatedWebhook, nowMs: number): void {
    this.#isOverAt.set(webhook.id, nowMs);
  }

  queued(node: number, queued: number): void {
    if (queued > limits.queued) throw new BrokenPromise(`node ${node} has ${queued} deliveries in memory`);
  }

  started(node: number, delivery: LeasedDelivery, webhook: SimulatedWebhook, nowMs: number): void {
    this.requests += 1;
    const { delivery_id: id } = delivery;
    if (nowMs > (this.#isOverAt.get(webhook.id) ?? Number.POSITIVE_INFINITY))
      throw new BrokenPromise(`${id} was attempted after its webhook was deleted`);
    const seen = this.#seen.get(id) ?? { requests: 0, accepted: 0, firstAtMs: nowMs };
    seen.requests += 1;
    if (seen.accepted > 0) this.repeated += 1;
    this.#seen.set(id, seen);
    if (delivery.attempts >= this.#attemptsMax)
      throw new BrokenPromise(`${id} was attempted more than ${this.#attemptsMax} times`);
    this.#checkCaps(node, webhook, nowMs);
  }

  #checkCaps(node: number, webhook: SimulatedWebhook, nowMs: number): void {
    const total = (this.#inFlight.get(node) ?? 0) + 1;
    this.#inFlight.set(node, total);
    if (total > limits.slots + limits.spareSlots)
      throw new BrokenPromise(`node ${node} has ${total} requests in flight`);
    const own = this.#of(node, webhook.id);
    own.inFlight += 1;
    const max = own.failuresInARow >= limits.failingAfter ? limits.windowFailing : limits.windowMax;
    if (own.inFlight > max)
      throw new BrokenPromise(`${webhook.id} has ${own.inFlight} requests in flight on node ${node}`);
    if (webhook.rateLimit !== undefined) this.#checkRate(own, webhook, webhook.rateLimit, nowMs);
  }

  /** A request that starts late may be followed earlier by the next one, by the slack of the pace at most. */
  #checkRate(own: OnNode, { id }: SimulatedWebhook, rateLimit: number, nowMs: number): void {
    own.starts.push(nowMs);
    while (own.starts[0]! <= nowMs - 1_000) own.starts.shift();
    const most = rateLimit * (1 + limits.paceSlackMs / 1_000) + 1;
    if (own.starts.length > most)
      throw new BrokenPromise(
        `${id} got ${own.starts.length} requests in a second, its limit is ${rateLimit}`,
      );
  }

  #of(node: number, webhookId: string): OnNode {
    const key = `${node}/${webhookId}`;
    const own = this.#onNode.get(key) ?? { inFlight: 0, failuresInARow: 0, starts: [] };
    this.#onNode.set(key, own);
    return own;
  }

  ended(node: number, { delivery_id: id, webhook_id }: LeasedDelivery, outcome: Outcome): void {
    this.#inFlight.set(node, this.#inFlight.get(node)! - 1);
    const own = this.#of(node, webhook_id);
    own.inFlight -= 1;
    own.failuresInARow = isDelivered(outcome) ? 0 : own.failuresInARow + 1;
    if (isDelivered(outcome)) this.#seen.get(id)!.accepted += 1;
  }

  /** Notes that a node died or lost its lease: requests in flight do not count, and outcomes may be unsettled. */
  lost(node: number): void {
    this.#lost.add(node);
  }

  /** Checks the end of a run: every delivery has come to its end, in the way that its attempts allow. */
  finished(all: readonly StoredDelivery[]): void {
    for (const { id, status, attempts, webhook } of all) {
      const { requests, accepted } = this.#seen.get(id) ?? { requests: 0, accepted: 0 };
      const fail = (what: string) => {
        throw new BrokenPromise(`${id} ${what} (${status}, ${attempts} attempts, ${requests} requests)`);
      };
      if (status === 'pending') fail('was never finished');
      if (status === 'success' && accepted === 0) fail('counts as delivered, but no receiver accepted it');
      if (status === 'failed' && attempts !== this.#attemptsMax) fail('was given up early');
      if (status === 'cancelled' && !webhook.isDeleted) fail('was cancelled without a reason');
      if (attempts > requests) fail('counts more attempts than requests');
      if (requests > attempts && this.#lost.size === 0 && status !== 'cancelled')
        fail('was requested more often than it counts attempts, though no node was lost');
    }
  }

  /** Returns how long the first attempt of a delivery took to begin. */
  firstAttemptMs({ id, recordedAtMs }: StoredDelivery): number {
    return (this.#seen.get(id)?.firstAtMs ?? Number.POSITIVE_INFINITY) - recordedAtMs;
  }
}
