import type { Figures } from './figures.js';
import { clock, milliseconds, perSecond, whole } from './wording.js';

/** The results of a demo, after all deliveries have settled. */
export interface Summary {
  duration_ms: number;
  /** Average events per second. The target may have changed during the demo. */
  rate: { wanted: number; achieved: number };
  events: {
    /** Events of the company that the platform listener recorded. */
    recorded: number;
    /** How many of them the stream has shown. */
    in_stream: number;
    /** Events that others recorded in the organization during the demo. */
    by_others: number;
    /** Events of the service itself, `webhook.*`. */
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
  /** Given up after the last attempt or at the end of the demo. */
  failed: number;
  /** How many of `failed` were waiting for a retry at the end. */
  given_up: number;
  /** Not settled when the demo ended. They continue at the next start. */
  unsettled: number;
  /** Requests that the receiver accepted with a 2xx status. */
  accepted: number;
  latency_ms: { p50: number | null; p99: number | null };
  signatures?: { verified: number; refused: number };
}

export interface Ending {
  endedMs: number;
  wantedPerSecond: number;
  webhookIdOf: (receiver: string) => string | undefined;
  /** By receiver, how many deliveries were waiting when the webhooks were disabled. */
  givenUp: ReadonlyMap<string, number>;
}

export function summarize(figures: Figures, ending: Ending): Summary {
  const { endedMs, wantedPerSecond, webhookIdOf, givenUp } = ending;
  const { ledger, recorded, startedMs, byType, own } = figures;
  const duration = endedMs - startedMs;
  return {
    duration_ms: duration,
    rate: {
      wanted: Math.round(wantedPerSecond * 100) / 100,
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
      unsettled: receiver.pending,
      accepted: receiver.accepted,
      latency_ms: { p50: receiver.latencies.percentile(0.5), p99: receiver.latencies.percentile(0.99) },
      ...(receiver.signatures && { signatures: { ...receiver.signatures } }),
    })),
    troubles: figures.trouble.count,
  };
}

/** Returns the current figures in one line. */
export function progressLine(figures: Figures, nowMs: number): string {
  const { delivered, pending, failed, latencies } = figures.total;
  const { startedMs, recorded, recording, trouble } = figures;
  return [
    `${clock(nowMs - startedMs)}  ${whole(recorded)} events, ${perSecond(recording.perSecond(nowMs))}/s`,
    `${whole(delivered)} delivered, ${whole(pending)} pending, ${whole(failed)} failed`,
    `time to arrival p50 ${milliseconds(latencies.percentile(0.5))}, p99 ${milliseconds(latencies.percentile(0.99))}`,
    ...(trouble.count > 0 ? [`${whole(trouble.count)} failed requests, the latest: ${trouble.latest}`] : []),
  ].join('; ');
}

/** Returns the summary as text for 80 columns. */
export function summaryLines(summary: Summary): string[] {
  const { events, rate } = summary;
  const missing = events.recorded - events.in_stream;
  const found = missing === 0 ? 'all of them in the stream' : `${whole(missing)} of them NOT in the stream`;
  const lines = [
    `${clock(summary.duration_ms)}: ${whole(events.recorded)} events recorded, ${found}.`,
    `Average rate: ${perSecond(rate.achieved)}/s (target ${perSecond(rate.wanted)}/s).`,
    `The service itself recorded ${whole(events.own)} more (webhook.*).`,
    '',
    ...receiverTable(summary.receivers),
  ];
  const remarks = remarksOf(summary);
  return remarks.length === 0 ? lines : [...lines, '', ...remarks];
}

const nameWidth = 11;
const columns: readonly { title: string; width: number; of: (receiver: ReceiverSummary) => string }[] = [
  { title: 'delivered', width: 11, of: ({ delivered }) => whole(delivered) },
  // As on the dashboard, a delivery that was waiting for a retry at the end does not count as failed.
  { title: 'failed', width: 9, of: ({ failed, given_up }) => whole(failed - given_up) },
  { title: 'at the end', width: 12, of: ({ given_up }) => whole(given_up) },
  { title: 'p50', width: 11, of: ({ latency_ms }) => milliseconds(latency_ms.p50) },
  { title: 'p99', width: 11, of: ({ latency_ms }) => milliseconds(latency_ms.p99) },
];
const above = `${'given up'.padStart(43)}${'time to arrival'.padStart(22)}`;

function receiverTable(receivers: readonly ReceiverSummary[]): string[] {
  const row = (name: string, cells: readonly string[]) =>
    name.padEnd(nameWidth) + cells.map((cell, index) => cell.padStart(columns[index]?.width ?? 0)).join('');
  return [
    above,
    row(
      'receiver',
      columns.map(({ title }) => title),
    ),
    ...receivers.map((receiver) =>
      row(
        receiver.name,
        columns.map(({ of }) => of(receiver)),
      ),
    ),
  ];
}

function remarksOf({ receivers, events, troubles }: Summary): string[] {
  const signed = receivers.flatMap(({ name, signatures }) =>
    signatures
      ? [
          `Signatures at the ${name} receiver: ${whole(signatures.verified)} valid, ` +
            `${whole(signatures.refused)} refused.`,
        ]
      : [],
  );
  const unsettled = receivers.reduce((sum, receiver) => sum + receiver.unsettled, 0);
  return [
    ...signed,
    ...(unsettled > 0
      ? [`${whole(unsettled)} deliveries are not final; they continue on the next start.`]
      : []),
    ...(events.by_others > 0 ? [`${whole(events.by_others)} events were recorded by other programs.`] : []),
    ...(troubles > 0 ? [`${whole(troubles)} requests failed.`] : []),
  ];
}
