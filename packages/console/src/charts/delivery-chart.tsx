import type { Stats } from '@posthorn/client';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Search } from '../address/search';
import { failedSince, useSettings } from '../api/settings';
import { formatCount } from '../text/format';
import { rich, t } from '../text/language';
import { BarChart } from './bar-chart';
import { barsOf, deliverySeries, isQuiet, stepName } from './bars';
import type { PlotProps } from './plot';

/** What the parts of a bar are called, and which state lists them. */
const states: Record<string, string> = { delivered: 'delivered', 'given up': 'given_up' };

/** Deliveries over time by state. Its bars open the deliveries of that range. */
export function DeliveryChart({
  stats,
  webhookId,
  notes,
  children,
}: {
  stats: Stats;
  webhookId?: string;
  notes?: PlotProps['notes'];
  children?: ReactNode;
}) {
  const navigate = useNavigate();
  const bars = barsOf(stats);
  const { totals } = stats;
  const retried = bars.retried.reduce((sum, value) => sum + value, 0);
  const settings = useSettings();
  const of = webhookId ? { webhook_id: webhookId } : {};
  const range = { from: stats.from, to: stats.to };
  const failed = { ...range, ...failedSince(Date.parse(stats.from), settings) };
  const hasFailures = (fromMs: number, toMs: number) =>
    bars.starts.some(
      (at, index) => at >= fromMs && at < toMs && (bars.retried[index] || bars.givenUp[index]),
    );
  const openRange = (fromMs: number, toMs: number, part?: string) =>
    void navigate({
      to: '/deliveries',
      search: {
        ...(part === t`delivered` || !hasFailures(fromMs, toMs)
          ? { from: new Date(fromMs).toISOString() }
          : failedSince(fromMs, settings)),
        to: new Date(toMs - 1).toISOString(),
        ...of,
        // A delivery that was retried then may have succeeded since, so filter only by the other states.
        ...(part && states[part] && { state: states[part] }),
      },
    });
  const isEmpty = isQuiet(stats);
  return (
    <section className="chart" aria-label={t`Deliveries`}>
      <div className="chart-head">
        <h2>{t`Deliveries`}</h2>
        <span className="soft small">
          {isEmpty ? t`no attempts in this time range` : stepName(bars.stepMs)}
          {!isEmpty && <span className="wide"> {t`· drag to open a range`}</span>}
        </span>
        <span className="grow" />
        {children}
      </div>
      {!isEmpty && (
        <>
          <BarChart
            starts={bars.starts}
            stepMs={bars.stepMs}
            {...deliverySeries(bars)}
            label={t`${formatCount(totals.delivered)} delivered, ${formatCount(retried)} retried, ${formatCount(totals.given_up)} given up`}
            onPick={openRange}
            onRange={openRange}
            {...(notes && { notes })}
          />
          <div className="legend soft small">
            <Link to="/deliveries" search={{ ...of, ...range, state: 'delivered' }}>
              <i />
              {rich`delivered ${<b>{formatCount(totals.delivered)}</b>}`}
            </Link>
            <Link to="/deliveries" search={{ ...of, ...failed }} className="warn">
              <i />
              {rich`retried ${<b>{formatCount(retried)}</b>}`}
            </Link>
            <Link to="/deliveries" search={{ ...of, ...failed, state: 'given_up' }} className="bad">
              <i />
              {rich`given up ${<b>{formatCount(totals.given_up)}</b>}`}
            </Link>
          </div>
        </>
      )}
    </section>
  );
}

/** A figure and what it counts. With `search`, it opens the deliveries that it counts. */
export function Figure({
  name,
  search,
  isBad = false,
  children,
}: {
  name: string;
  search?: Search | undefined;
  isBad?: boolean;
  children: ReactNode;
}) {
  const content = (
    <>
      <b className={isBad ? 'bad-text' : undefined}>{children}</b>
      <span>{name}</span>
    </>
  );
  if (!search) return <div className="figure">{content}</div>;
  return (
    <Link className="figure" to="/deliveries" search={search}>
      {content}
    </Link>
  );
}
