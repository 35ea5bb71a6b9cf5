import type { Figures } from './figures.js';
import { clock, milliseconds, perSecond, whole } from './wording.js';

/** What a demo came to, once everything has settled. */
export interface Summary {
  duration_ms: number;
  /** Events a second. */
  rate: { wanted: number; achieved: number };
  events: {
    /** What the platform listener said it recorded for the company. */
    recorded: number;
    /** Those of them that the stream has shown. */
    in_stream: number;
    /** Recorded by somebody else in the organization meanwhile. */
    by_others: number;
    /** The service's own, `webhook.*`. */
    own: number;
    by_type: Record<string, number>;
  };
  receivers: readonly ReceiverSummary[];
  troubles: number;
}

interface ReceiverSummary {
  name: string;
  webhook_id: string | null;
  delivered: number;
  /** Given up after five attempts, or at the end of the demo. */
  failed: number;
  /** Those of the failed that still waited for their next attempt at the end. */
  given_up: number;
  /** Not settled when the demo ended; the next start goes on with them. */
  unsettled: number;
  /** Requests that the receiver answered with 2xx. */
  accepted: number;
  latency_ms: { p50: number | null; p99: number | null };
  signatures?: { verified: number; refused: number };
}

export interface Ending {
  endedMs: number;
  wantedPerSecond: number;
  webhookIdOf: (receiver: string) => string | undefined;
  /** By receiver, how many deliveries still waited when the webhooks were switched off. */
  givenUp: ReadonlyMap<string, number>;
}

export function summarise(figures: Figures, ending: Ending): Summary {
  const { endedMs, wantedPerSecond, webhookIdOf, givenUp } = ending;
  const { ledger, recorded, startedMs, byType, own } = figures;
  const duration = endedMs - startedMs;
  return {
    duration_ms: duration,
    rate: {
      wanted: wantedPerSecond,
      achieved: duration > 0 ? Math.round((recorded / duration) * 100_000) / 100 : 0,
    },
    events: {
      recorded,
      in_stream: recorded - ledger.missing,
      by_others: ledger.others,
      own,
      by_type: Object.fromEntries([...byType].sort(([a], [b]) => (a < b ? -1 : 1))),
    },
    receivers: figures.receivers.map((receiver) => ({
      name: receiver.name,
      webhook_id: webhookIdOf(receiver.name) ?? null,
      delivered: receiver.delivered,
      failed: receiver.failed,
      given_up: givenUp.get(receiver.name) ?? 0,
      unsettled: receiver.retrying,
      accepted: receiver.accepted,
      latency_ms: { p50: receiver.latencies.percentile(0.5), p99: receiver.latencies.percentile(0.99) },
      ...(receiver.signatures && { signatures: { ...receiver.signatures } }),
    })),
    troubles: figures.trouble.count,
  };
}

/** How it stands, in one line. */
export function progressLine(figures: Figures, nowMs: number): string {
  const { delivered, retrying, failed, latencies } = figures.total;
  const { startedMs, recorded, recording, trouble } = figures;
  return [
    `${clock(nowMs - startedMs)}  ${whole(recorded)} events, ${perSecond(recording.perSecond(nowMs))} a second`,
    `${whole(delivered)} delivered, ${whole(retrying)} retrying, ${whole(failed)} failed`,
    `p50 ${milliseconds(latencies.percentile(0.5))}, p99 ${milliseconds(latencies.percentile(0.99))}`,
    ...(trouble.count > 0 ? [`${whole(trouble.count)} went wrong, the latest: ${trouble.latest}`] : []),
  ].join('; ');
}

/** The same for people. */
export function summaryLines(summary: Summary): string[] {
  const { events, rate, receivers } = summary;
  const missing = events.recorded - events.in_stream;
  const found = missing === 0 ? 'all of them in the stream' : `${whole(missing)} of them NOT in the stream`;
  const lines = [
    `${clock(summary.duration_ms)} at work: ${whole(events.recorded)} events recorded, ${found}; ` +
      `${perSecond(rate.achieved)} a second of ${perSecond(rate.wanted)} wanted.`,
    `${whole(events.own)} more are the service's own (webhook.*).`,
    '',
    ['receiver'.padEnd(11), ...['delivered', 'failed', 'p50', 'p99'].map((title) => title.padStart(11))].join(
      '',
    ),
    ...receivers.map(({ name, delivered, failed, latency_ms, ...rest }) => {
      const cells = [
        whole(delivered),
        whole(failed),
        milliseconds(latency_ms.p50),
        milliseconds(latency_ms.p99),
      ];
      return [name.padEnd(11), ...cells.map((cell) => cell.padStart(11)), remark(rest)].join('');
    }),
  ];
  if (events.by_others > 0) lines.push('', `${whole(events.by_others)} events came from somebody else.`);
  if (summary.troubles > 0) lines.push('', `${whole(summary.troubles)} requests went wrong.`);
  return lines;
}

function remark({
  given_up,
  unsettled,
  signatures,
}: Pick<ReceiverSummary, 'given_up' | 'unsettled' | 'signatures'>) {
  const parts = [
    given_up > 0 && `${whole(given_up)} still waited at the end`,
    unsettled > 0 && `${whole(unsettled)} not settled`,
    signatures && `signatures: ${whole(signatures.verified)} verified, ${whole(signatures.refused)} refused`,
  ].filter(Boolean);
  return parts.length === 0 ? '' : `   ${parts.join(', ')}`;
}
