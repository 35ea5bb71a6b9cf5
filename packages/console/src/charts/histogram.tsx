import { noRange } from '../address/range';
import { useSetSearch } from '../address/search';
import { t } from '../text/language';
import { BarChart } from './bar-chart';
import { type StatsBars, stepName } from './bars';

/** Bars over time above a list, and what they count. A drag narrows the list to a range. */
export function Histogram({
  name,
  says,
  bars,
  ...chart
}: Pick<Parameters<typeof BarChart>[0], 'series' | 'strip' | 'label'> & {
  name: string;
  says: string;
  /** Undefined until they are loaded. */
  bars: StatsBars | undefined;
}) {
  const set = useSetSearch();
  const open = (fromMs: number, toMs: number) =>
    set({ ...noRange, from: new Date(fromMs).toISOString(), to: new Date(toMs - 1).toISOString() });
  return (
    <section className="chart" aria-label={name}>
      <span className="soft small">
        {says}
        {bars && ` · ${stepName(bars.stepMs)}`}
        <span className="wide"> · {t`drag to narrow the range`}</span>
      </span>
      {bars ? (
        <BarChart starts={bars.starts} stepMs={bars.stepMs} isLow onPick={open} onRange={open} {...chart} />
      ) : (
        <div className="plot low" />
      )}
    </section>
  );
}
