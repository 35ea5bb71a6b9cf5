import { shownTheme, useZone, type Zone } from '../browser/preferences';
import 'uplot/dist/uPlot.min.css';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import UPlot from 'uplot';
import { useStore } from '../browser/store';
import { formatCount, formatDay, formatMinute } from '../text/format';
import { topsOf } from './bars';

interface BarSeries {
  label: string;
  /** A custom property that holds the color. */
  color: string;
  values: number[];
}

export interface BarChartProps {
  /** The start of each bar. */
  starts: number[];
  stepMs: number;
  /** From the bottom of a bar to its top. */
  series: BarSeries[];
  label: string;
  isLow?: boolean;
  /** Called when a bar is clicked, with the series whose part of the bar was hit. */
  onBar?: (fromMs: number, toMs: number, series: number) => void;
  /** Called when a range is selected by dragging. */
  onRange?: (fromMs: number, toMs: number) => void;
}

const dayMs = 86_400_000;
const axisPx = 26;
const abovePx = 6;
/** A part of a bar must not look like nothing. */
const partPxMin = 2;

/** Stacked bars over time. A click opens a bar, a drag opens a range. */
export function BarChart(props: BarChartProps) {
  const { starts, series, stepMs, label, isLow = false } = props;
  const holder = useRef<HTMLDivElement>(null);
  const plotted = useRef<UPlot>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const shown = useStore(shownTheme);
  const shownZone = useZone();
  const [hovered, setHovered] = useState<{ index: number; left: number } | undefined>();
  const data = JSON.stringify([starts, series]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `data` and `shown` stand for what is read inside
  useEffect(() => {
    const element = holder.current;
    if (!element) return;
    const plot = drawn(element, latest, shownZone, setHovered);
    plotted.current = plot;
    const observer = new ResizeObserver(() => plot.setSize(sizeOf(element)));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [data, shown, shownZone]);

  function pick(index: number): void {
    const start = starts[index];
    const plot = plotted.current;
    if (start === undefined || !plot) return;
    setHovered({ index, left: plot.valToPos(start / 1_000, 'x') + plot.bbox.left / devicePixelRatio });
  }

  const last = starts.length - 1;
  const picked = Math.min(hovered?.index ?? last, last);
  function onKey(event: KeyboardEvent): void {
    const to = {
      ArrowLeft: Math.max(0, picked - 1),
      ArrowRight: Math.min(last, picked + 1),
      Home: 0,
      End: last,
    }[event.key];
    const start = starts[picked];
    if (to !== undefined) pick(to);
    else if (event.key === 'Enter' && start !== undefined) props.onRange?.(start, start + stepMs);
    else return;
    event.preventDefault();
  }

  const at = hovered && starts[hovered.index];
  return (
    <div
      className={isLow ? 'plot low' : 'plot'}
      role="slider"
      tabIndex={0}
      aria-label={props.onRange ? `${label}. Use the arrow keys to choose a bar and Enter to open it` : label}
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={picked}
      aria-valuetext={barText(props, picked, shownZone)}
      onKeyDown={onKey}
      onFocus={(event) => event.currentTarget.matches(':focus-visible') && pick(picked)}
      onBlur={() => setHovered(undefined)}
    >
      <div ref={holder} className="plot-canvas" />
      {hovered && at !== undefined && (
        <div
          className="readout"
          ref={(element) => {
            const room = (holder.current?.clientWidth ?? 0) - (element?.offsetWidth ?? 0);
            if (element) element.style.left = `${Math.max(0, Math.min(room, hovered.left + 12))}px`;
          }}
        >
          {barText(props, hovered.index, shownZone)}
        </div>
      )}
    </div>
  );
}

/** `15 Nov 20:00 · 1,204 delivered · 3 retried` */
function barText({ starts, stepMs, series }: BarChartProps, index: number, shownZone: Zone): string {
  const counts = series.map(({ label, values }) => `${formatCount(values[index] ?? 0)} ${label}`);
  return [timeOf(starts[index] ?? 0, stepMs, shownZone), ...counts].join(' · ');
}

function timeOf(atMs: number, stepMs: number, shownZone: Zone): string {
  if (stepMs >= dayMs) return formatDay(atMs, 'utc');
  return `${formatDay(atMs, shownZone)} ${formatMinute(atMs, shownZone)}`;
}

const sizeOf = (element: HTMLElement) => ({ width: element.clientWidth, height: element.clientHeight });

function drawn(
  element: HTMLDivElement,
  latest: { current: BarChartProps },
  shownZone: Zone,
  onHover: (hovered: { index: number; left: number } | undefined) => void,
): UPlot {
  const { starts, series, stepMs } = latest.current;
  const styles = getComputedStyle(element);
  const colorOf = (name: string) => styles.getPropertyValue(name).trim();
  const bars = UPlot.paths.bars!({ size: [0.8, 34], align: 1 });
  // Every series is drawn from zero up to its cumulative height, the tallest first, so that each one covers the lower
  // part of the one before.
  const top = Math.max(0, ...(topsOf(series).at(-1) ?? []));
  const yMax = Math.max(1, top * 1.05);
  const tops = topsOf(series, (partPxMin * yMax) / (element.clientHeight - axisPx - abovePx));
  const first = starts[0] ?? 0;
  const last = starts.at(-1) ?? 0;
  // The API counts days in UTC.
  const labelZone = stepMs >= dayMs ? 'utc' : shownZone;
  const axis = {
    stroke: colorOf('--soft'),
    font: '11px system-ui',
    ticks: { show: false },
    border: { show: false },
  };
  let isDrag = false;
  const plot: UPlot = new UPlot(
    {
      ...sizeOf(element),
      // Places the labels at whole days and hours in this zone. The default is the browser's zone.
      ...(labelZone === 'utc' && { tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1_000), 'UTC') }),
      legend: { show: false },
      padding: [abovePx, 18, 0, 0],
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      scales: {
        x: { range: () => [first / 1_000, (last + stepMs) / 1_000] },
        y: { range: () => [0, yMax] },
      },
      axes: [
        {
          ...axis,
          size: axisPx,
          gap: 8,
          grid: { show: false },
          space: 74,
          values: (_plot, splits) =>
            splits.map((seconds) =>
              stepMs * starts.length > 1.5 * dayMs
                ? formatDay(seconds * 1_000, labelZone)
                : formatMinute(seconds * 1_000, labelZone),
            ),
        },
        {
          ...axis,
          size: 44,
          gap: 4,
          // A low chart has room for labels that are closer together.
          space: element.clientHeight < 120 ? 18 : 34,
          grid: { stroke: colorOf('--line'), width: 1 },
          incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 1e7],
          values: (_plot, splits) => splits.map((value) => short(value)),
        },
      ],
      series: [
        {},
        ...series
          .map((one) => ({
            fill: colorOf(one.color),
            width: 0,
            points: { show: false },
            paths: bars,
          }))
          .reverse(),
      ],
      hooks: {
        setCursor: [
          (own) => {
            const { left = -1 } = own.cursor;
            const index = left < 0 ? -1 : indexAt(own, left);
            onHover(index < 0 ? undefined : { index, left: left + own.bbox.left / devicePixelRatio });
          },
        ],
        setSelect: [
          (own) => {
            const { left, width } = own.select;
            if (width < 4) return;
            isDrag = true;
            const from = starts[indexAt(own, left)];
            const to = starts[indexAt(own, left + width - 1)];
            own.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            if (from !== undefined && to !== undefined) latest.current.onRange?.(from, to + stepMs);
          },
        ],
      },
    },
    [starts.map((ms) => ms / 1_000), ...[...tops].reverse()],
    element,
  );

  function indexAt(own: UPlot, left: number): number {
    const atMs = own.posToVal(left, 'x') * 1_000;
    return Math.max(0, Math.min(starts.length - 1, Math.floor((atMs - first) / stepMs)));
  }

  plot.over.addEventListener('mousedown', () => {
    isDrag = false;
  });
  plot.over.addEventListener('click', (event) => {
    if (isDrag) return;
    const box = plot.over.getBoundingClientRect();
    const index = indexAt(plot, event.clientX - box.left);
    const value = plot.posToVal(event.clientY - box.top, 'y');
    const part = tops.findIndex((values) => value <= (values[index] ?? 0));
    const from = starts[index];
    if (from !== undefined && part >= 0) latest.current.onBar?.(from, from + stepMs, part);
  });
  return plot;
}

function short(value: number): string {
  if (value >= 1e6) return `${value / 1e6} M`;
  return value >= 1e4 ? `${value / 1e3} k` : formatCount(value);
}
