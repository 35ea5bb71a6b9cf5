import type { Figures } from './figures.js';
import { clock, milliseconds, perSecond, table, whole } from './text.js';

interface Ending {
  endedMs: number;
  wantedPerSecond: number;
  webhookIdOf: (receiver: string) => string | undefined;
  /** By receiver, how many deliveries were waiting when the webhooks were paused at the end. */
  givenUp: ReadonlyMap<string, number>;
}

/** The results of a demo, after all deliveries have settled. */
export type Summary = ReturnType<typeof summarize>;
type ReceiverSummary = Summary['receivers'][number];

export function summarize(figures: Figures, { endedMs, wantedPerSecond, webhookIdOf, givenUp }: Ending) {
  const { recorded, missing, others, own, byType } = figures;
  const duration = endedMs - figures.startedMs;
  return {
    duration_ms: duration,
    /** Events per second: the last target, and the average. */
    rate: {
      wanted: wantedPerSecond,
      achieved: duration > 0 ? Math.round((recorded / duration) * 100_000) / 100 : 0,
    },
    events: {
      /** Events of the company that the platform listener recorded. */
      recorded,
      /** How many of them the stream has shown. */
      in_stream: recorded - missing,
      /** Events that others recorded in the organization during the demo. */
      by_others: others,
      /** Events of the service itself, `webhook.*`. */
      own,
      by_type: Object.fromEntries([...byType].sort(([a], [b]) => (a < b ? -1 : 1))),
    },
    receivers: figures.receivers.map(({ name, delivered, failed, pending, latencies }) => ({
      name,
      webhook_id: webhookIdOf(name) ?? null,
      delivered,
      /** Given up after the last attempt or at the end of the demo. */
      failed: failed + (givenUp.get(name) ?? 0),
      /** How many of `failed` were still waiting for an attempt at the end. */
      given_up: givenUp.get(name) ?? 0,
      /** Not settled when the demo ended. They continue at the next start. */
      unsettled: pending,
      latency_ms: { p50: latencies.percentile(0.5), p99: latencies.percentile(0.99) },
    })),
    troubles: figures.trouble.count,
  };
}

/** Returns the current figures in one line. */
export function progressLine(figures: Figures, nowMs: number): string {
  const { delivered, pending, failed, latencies } = figures.total;
  const { startedMs, recorded, trouble } = figures;
  return [
    `${clock(nowMs - startedMs)}  ${whole(recorded)} events, ${perSecond(figures.perSecond(nowMs))}/s`,
    `${whole(delivered)} delivered, ${whole(pending)} pending, ${whole(failed)} failed`,
    `time to arrival p50 ${milliseconds(latencies.percentile(0.5))}, p99 ${milliseconds(latencies.percentile(0.99))}`,
    ...(trouble.count > 0 ? [`${whole(trouble.count)} failed requests, the latest: ${trouble.latest}`] : []),
  ].join('; ');
}

/** Returns the summary as text for 80 columns. */
export function summaryLines(summary: Summary): string[] {
  const { events, rate, receivers } = summary;
  const missing = events.recorded - events.in_stream;
  const found = missing === 0 ? 'all of them in the stream' : `${whole(missing)} of them NOT in the stream`;
  const [heading, ...rows] = table(columns, receivers);
  const remarks = remarksOf(summary);
  return [
    `${clock(summary.duration_ms)}: ${whole(events.recorded)} events recorded, ${found}.`,
    `Average rate: ${perSecond(rate.achieved)}/s (target ${perSecond(rate.wanted)}/s).`,
    `The service itself recorded ${whole(events.own)} more (webhook.*).`,
    '',
    above,
    heading,
    ...rows,
    ...(remarks.length === 0 ? [] : ['', ...remarks]),
  ];
}

const columns = [
  { title: 'receiver', width: 11, of: ({ name }: ReceiverSummary) => name },
  { title: 'delivered', width: -11, of: ({ delivered }: ReceiverSummary) => whole(delivered) },
  // As on the dashboard, a delivery that was waiting for a retry at the end does not count as failed.
  { title: 'failed', width: -9, of: ({ failed, given_up }: ReceiverSummary) => whole(failed - given_up) },
  { title: 'at the end', width: -12, of: ({ given_up }: ReceiverSummary) => whole(given_up) },
  { title: 'p50', width: -11, of: ({ latency_ms }: ReceiverSummary) => milliseconds(latency_ms.p50) },
  { title: 'p99', width: -11, of: ({ latency_ms }: ReceiverSummary) => milliseconds(latency_ms.p99) },
];
const above = `${'given up'.padStart(43)}${'time to arrival'.padStart(22)}`;

function remarksOf({ receivers, events, troubles }: Summary): string[] {
  const unsettled = receivers.reduce((sum, receiver) => sum + receiver.unsettled, 0);
  return [
    ...(unsettled > 0
      ? [`${whole(unsettled)} deliveries are not final; they continue on the next start.`]
      : []),
    ...(events.by_others > 0 ? [`${whole(events.by_others)} events were recorded by other programs.`] : []),
    ...(troubles > 0 ? [`${whole(troubles)} requests failed.`] : []),
  ];
}
