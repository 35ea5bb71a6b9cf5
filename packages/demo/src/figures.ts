import { createHistogram } from 'node:perf_hooks';

/** The fields of an event that the demo uses. */
export interface StreamEvent {
  id: string;
  type: string;
  workspace_id: string | null;
  actor: { type: string; id: string };
  subject: { type: string; id: string };
  created_at: string;
}

/** The deliveries of a webhook by status. */
export interface DeliveryCounts {
  /** Requests that its receiver accepted with a 2xx status. */
  delivered: number;
  /** As the service reports it: being sent, or waiting for the next attempt. */
  pending: number;
  /** Last attempts that its receiver did not accept. */
  failed: number;
}

export interface ReceiverFigures extends DeliveryCounts {
  readonly name: string;
  /** Describes its behavior in a few words. */
  readonly description: string;
  /** From recording to the first arrival. */
  readonly latencies: Latencies;
}

const eventsKept = 200;
const measuredMs = 10_000;

/** Everything that the demo counts. It makes no requests: others report to it. */
export class Figures {
  startedMs = 0;
  readonly byType = new Map<string, number>();
  readonly receivers: readonly ReceiverFigures[];
  /** The latest events of the stream, newest last. */
  readonly latest: StreamEvent[] = [];
  recorded = 0;
  trouble = { count: 0, latest: '' };
  /** When the latest events were recorded. */
  readonly #recordedMs: number[] = [];
  /** Events of which only one side is known yet, so they are as few as the lag of the stream. */
  readonly #acknowledged = new Set<string>();
  readonly #shown = new Set<string>();

  constructor(receivers: readonly { name: string; description: string }[]) {
    this.receivers = receivers.map(({ name, description }) => ({
      name,
      description,
      delivered: 0,
      pending: 0,
      failed: 0,
      latencies: new Latencies(),
    }));
  }

  /** Notes that the platform listener recorded an event. */
  eventRecorded(id: string, nowMs: number): void {
    this.recorded += 1;
    this.#recordedMs.push(nowMs);
    while (this.#recordedMs[0]! < nowMs - measuredMs) this.#recordedMs.shift();
    if (!this.#shown.delete(id)) this.#acknowledged.add(id);
  }

  /** Notes that the stream showed an event. */
  eventShown(event: StreamEvent): void {
    this.byType.set(event.type, (this.byType.get(event.type) ?? 0) + 1);
    if (!isOwn(event.type) && !this.#acknowledged.delete(event.id)) this.#shown.add(event.id);
    this.latest.push(event);
    if (this.latest.length > eventsKept) this.latest.shift();
  }

  /** Notes that a request arrived at a receiver, this long after its event was recorded. */
  deliveryArrived(receiver: string, attempt: number, latencyMs: number): void {
    if (attempt === 1) this.receiver(receiver).latencies.add(latencyMs);
  }

  readonly troubled = (message: string): void => {
    this.trouble = { count: this.trouble.count + 1, latest: message };
  };

  /** Returns how many acknowledged events the stream has not shown yet. */
  get missing(): number {
    return this.#acknowledged.size;
  }

  /** Returns how many events in the stream were recorded by other programs. */
  get others(): number {
    return this.#shown.size;
  }

  /** Returns how many events in the stream were recorded by the service itself. */
  get own(): number {
    return [...this.byType].reduce((sum, [type, count]) => sum + (isOwn(type) ? count : 0), 0);
  }

  get total(): DeliveryCounts & { latencies: Latencies } {
    const total = { delivered: 0, pending: 0, failed: 0, latencies: new Latencies() };
    for (const { delivered, pending, failed, latencies } of this.receivers) {
      total.delivered += delivered;
      total.pending += pending;
      total.failed += failed;
      total.latencies.include(latencies);
    }
    return total;
  }

  receiver(name: string): ReceiverFigures {
    const found = this.receivers.find((receiver) => receiver.name === name);
    if (!found) throw new Error(`There is no receiver ${name}.`);
    return found;
  }

  /** Returns how many events were recorded per second, over the last ten seconds or since the start. */
  perSecond(nowMs: number): number {
    const fromMs = Math.max(this.startedMs, nowMs - measuredMs);
    const passed = (nowMs - fromMs) / 1000;
    const count = this.#recordedMs.filter((ms) => ms >= fromMs).length;
    return passed > 0 ? count / Math.max(passed, 0.5) : 0;
  }
}

/** Returns whether the service records this type itself: `webhook.*` events, about its own deliveries. */
function isOwn(type: string): boolean {
  return type.startsWith('webhook.');
}

/** Counts any number of durations, each to within 1%. */
export class Latencies {
  /** Of one millisecond more than each, because a histogram starts at 1. */
  readonly #histogram = createHistogram({ figures: 2 });

  get count(): number {
    return this.#histogram.count;
  }

  /** Adds a duration. It may be negative if another clock differs from ours. */
  add(ms: number): void {
    this.#histogram.record(Math.max(0, Math.round(ms)) + 1);
  }

  /** Returns the duration that `fraction` of all measurements do not exceed, or null without any. */
  percentile(fraction: number): number | null {
    if (this.count === 0) return null;
    return this.#histogram.percentile((Math.ceil(this.count * fraction) / this.count) * 100) - 1;
  }

  /** Adds all measurements of another instance. */
  include(other: Latencies): void {
    this.#histogram.add(other.#histogram);
  }
}
