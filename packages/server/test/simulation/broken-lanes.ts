import { Lane } from '../../src/engine/lane.js';
import type { Turn } from '../../src/engine/lanes.js';
import { limits } from '../../src/engine/limits.js';
import type { LeasedDelivery, Room } from '../../src/events/recording-store.js';
import type { Scheduler } from './node.js';

/** One queue for all webhooks, first in, first out, with `slots` requests in flight: no turns, no windows, no pace. */
export class OneQueue implements Scheduler {
  readonly #slots: number;
  readonly #waiting: LeasedDelivery[] = [];
  #inFlight = 0;

  constructor(slots: number) {
    this.#slots = slots;
  }

  get queued(): number {
    return this.#waiting.length;
  }

  add(deliveries: readonly LeasedDelivery[]): LeasedDelivery[] {
    this.#waiting.push(...deliveries);
    return [];
  }

  next(): Turn | undefined {
    if (this.#inFlight >= this.#slots) return undefined;
    const delivery = this.#waiting.shift();
    if (!delivery) return undefined;
    this.#inFlight += 1;
    const lane = new Lane(delivery.organization_id, delivery.webhook_id);
    return { lane, delivery, bytes: 0, isUnhealthy: false };
  }

  ended(): { surplus: LeasedDelivery[]; wantsMore: boolean } {
    this.#inFlight -= 1;
    return { surplus: [], wantsMore: false };
  }

  roomToRecord(node: number): Room {
    return { node, webhooks: new Map(), each: limits.laneQueued, total: limits.queued };
  }

  roomToClaim(node: number): Room {
    return this.roomToRecord(node);
  }

  claimed(): boolean {
    return false;
  }

  recorded(): boolean {
    return true;
  }

  limit(): void {}
}
