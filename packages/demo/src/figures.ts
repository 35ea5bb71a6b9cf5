import { Latencies } from './latencies.js';
import { Ledger } from './ledger.js';
import { RateMeter } from './rate-meter.js';

/** The fields of an event that the demo uses. */
export interface StreamEvent {
  id: string;
  type: string;
  workspace_id: string | null;
  actor: { type: string; id: string };
  subject: { type: string; id: string };
  created_at: string;
}

/** The deliveries of a webhook by status, as the service reports them. */
export interface DeliveryCounts {
  delivered: number;
  /** Being sent, or waiting for the next attempt. */
  pending: number;
  failed: number;
}

export interface ReceiverFigures extends DeliveryCounts {
  readonly name: string;
  /** Describes its behavior in a few words. */
  readonly description: string;
  /** From recording to the first arrival. */
  readonly latencies: Latencies;
  /** Requests that it accepted with a 2xx status. */
  accepted: number;
  /** Only the receiver that checks signatures has them. */
  signatures: { verified: number; refused: number } | undefined;
}

interface Trouble {
  count: number;
  latest: string;
}

const eventsKept = 200;

/** Everything that the demo counts. It makes no requests: others report to it. */
export class Figures {
  startedMs = 0;
  recording = new RateMeter(0);
  readonly ledger = new Ledger();
  readonly byType = new Map<string, number>();
  readonly receivers: readonly ReceiverFigures[];
  /** The latest events of the stream, newest last. */
  readonly latest: StreamEvent[] = [];
  recorded = 0;
  trouble: Trouble = { count: 0, latest: '' };

  constructor(receivers: readonly { name: string; description: string; checksSignatures: boolean }[]) {
    this.receivers = receivers.map(({ name, description, checksSignatures }) => ({
      name,
      description,
      delivered: 0,
      pending: 0,
      failed: 0,
      accepted: 0,
      latencies: new Latencies(),
      signatures: checksSignatures ? { verified: 0, refused: 0 } : undefined,
    }));
  }

  /** Notes that the company starts to work. */
  begin(nowMs: number): void {
    this.startedMs = nowMs;
    this.recording = new RateMeter(nowMs);
  }

  /** Notes that the platform listener recorded an event. */
  eventRecorded(id: string, nowMs: number): void {
    this.recorded += 1;
    this.recording.count(nowMs);
    this.ledger.acknowledged(id);
  }

  /** Notes that the stream showed an event. */
  eventShown(event: StreamEvent): void {
    this.byType.set(event.type, (this.byType.get(event.type) ?? 0) + 1);
    if (!isOwn(event.type)) this.ledger.shown(event.id);
    this.latest.push(event);
    if (this.latest.length > eventsKept) this.latest.shift();
  }

  /** Notes that a request arrived at a receiver, this long after its event was recorded. */
  deliveryArrived(receiver: string, attempt: number, latencyMs: number): void {
    if (attempt === 1) this.receiver(receiver).latencies.add(latencyMs);
  }

  /** Notes that a receiver accepted a delivery with a 2xx status. */
  deliveryAccepted(receiver: string): void {
    this.receiver(receiver).accepted += 1;
  }

  signatureChecked(receiver: string, isValid: boolean): void {
    const { signatures } = this.receiver(receiver);
    if (signatures) signatures[isValid ? 'verified' : 'refused'] += 1;
  }

  deliveriesCounted(receiver: string, counts: DeliveryCounts): void {
    Object.assign(this.receiver(receiver), counts);
  }

  troubled(message: string): void {
    this.trouble = { count: this.trouble.count + 1, latest: message };
  }

  /** Returns how many events in the stream were recorded by the service itself. */
  get own(): number {
    let sum = 0;
    for (const [type, count] of this.byType) if (isOwn(type)) sum += count;
    return sum;
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
}

/** Returns whether the service records this type itself: `webhook.*` events, about its own deliveries. */
export function isOwn(type: string): boolean {
  return type.startsWith('webhook.');
}
