import { useNow } from '../text/clock';
import { formatCount } from '../text/format';
import { topsOf } from './bars';
import { Plot, type PlotProps } from './plot';
import { roundTicks } from './scale';

interface BarSeries {
  /** What it is called. It is also passed on when a part of a bar is clicked. */
  label: string;
  className: string;
  values: readonly number[];
}

/** A part of a bar must not look like nothing. */
const partMin = 0.02;
const stripPartMin = 0.07;

/** Bars over time and, below them, a strip of bars with a scale of its own: next to many, a few would not be seen. */
export function BarChart({
  series,
  strip = [],
  ...plot
}: PlotProps & {
  /** From the bottom of a bar to its top. */
  series: readonly BarSeries[];
  strip?: readonly BarSeries[];
}) {
  const now = useNow(60_000);
  const isUnfinished = (index: number) => (plot.starts[index] ?? 0) + plot.stepMs > now;
  const hasStrip = strip.some(({ values }) => values.some((value) => value > 0));
  const main = barsOf(series, plot.isLow ? 2 : 3, partMin, isUnfinished);
  const below = barsOf(strip, 1, stripPartMin, isUnfinished);
  return (
    <Plot
      {...plot}
      rows={[main, ...(hasStrip ? [{ ...below, ticks: below.ticks.slice(-1), isStrip: true }] : [])]}
      textOf={(index) =>
        [...series, ...strip]
          .map(({ label, values }) => `${formatCount(values[index] ?? 0)} ${label}`)
          .join(' · ')
      }
    />
  );
}

function barsOf(
  series: readonly BarSeries[],
  ticksMost: number,
  smallest: number,
  isUnfinished: (index: number) => boolean,
) {
  const ticks = roundTicks(Math.max(0, ...(topsOf(series).at(-1) ?? [])), ticksMost);
  const max = ticks.at(-1)!;
  const tops = topsOf(series, smallest * max);
  const marks = (
    <>
      {ticks.map((value) => (
        <line key={value} x1="0" x2="100%" y1={100 - (value / max) * 100} y2={100 - (value / max) * 100} />
      ))}
      {series.flatMap(({ label, className }, part) =>
        (tops[part] ?? []).map((top, index) => {
          const bottom = tops[part - 1]?.[index] ?? 0;
          return (
            top > bottom && (
              <rect
                // biome-ignore lint/suspicious/noArrayIndexKey: the bars of a chart keep their places
                key={`${label} ${index}`}
                data-part={label}
                className={isUnfinished(index) ? `${className} unfinished` : className}
                x={index + 0.1}
                width={0.8}
                y={100 - (top / max) * 100}
                height={((top - bottom) / max) * 100}
              />
            )
          );
        }),
      )}
    </>
  );
  return { marks, ticks: ticks.map((value) => ({ at: value / max, text: short(value) })) };
}

function short(value: number): string {
  if (value >= 1e6) return `${value / 1e6} M`;
  return value >= 1e4 ? `${value / 1e3} k` : formatCount(value);
}
