import { type KeyboardEvent, type PointerEvent, type ReactNode, useState } from 'react';
import { useZone } from '../browser/preferences';
import { formatDay, formatMinute } from '../text/format';
import { t } from '../text/language';
import { timeTicks } from './scale';

interface Row {
  /** What is drawn, in a box that is as wide as there are steps and 100 high, with zero at the top. */
  marks: ReactNode;
  /** The labels at its left edge: from 0, the bottom, to 1. */
  ticks: readonly { at: number; text: string }[];
  isStrip?: boolean;
}

export interface PlotProps {
  /** The start of each step. */
  starts: readonly number[];
  stepMs: number;
  label: string;
  isLow?: boolean;
  /** Something that happened at a time, such as a change of the webhook. */
  notes?: readonly { atMs: number; text: string }[];
  /** Called when a step is clicked, with the `data-part` of the mark that was hit. */
  onPick?: (fromMs: number, toMs: number, part?: string) => void;
  /** Called when a range is selected by dragging, or a step by keyboard. */
  onRange?: (fromMs: number, toMs: number) => void;
}

const dayMs = 86_400_000;

/** Something over time: its axes, what is under the pointer, and the choice of a step or a range. */
export function Plot({
  starts,
  stepMs,
  label,
  isLow = false,
  notes = [],
  onPick,
  onRange,
  rows,
  textOf,
}: PlotProps & { rows: readonly Row[]; textOf: (index: number) => string }) {
  // The API counts days in UTC.
  const chosenZone = useZone();
  const zone = stepMs >= dayMs ? 'utc' : chosenZone;
  const [at, setAt] = useState<number>();
  const [from, setFrom] = useState<number>();
  const count = starts.length;
  const last = count - 1;
  const shown = Math.min(at ?? last, last);
  const first = starts[0] ?? 0;
  const startOf = (index: number) => starts[index] ?? first;
  const shareOf = (ms: number) => (ms - first) / (stepMs * count);
  const notesAt = notes.filter(({ atMs }) => atMs >= startOf(shown) && atMs < startOf(shown) + stepMs);
  const text = [
    [formatDay(startOf(shown), zone), ...(stepMs >= dayMs ? [] : [formatMinute(startOf(shown), zone)])].join(
      ' ',
    ),
    textOf(shown),
    ...notesAt.map((note) => note.text),
  ].join(' · ');

  function indexAt({ currentTarget, clientX }: PointerEvent): number {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(last, Math.floor(((clientX - left) / width) * count)));
  }

  function onUp(event: PointerEvent): void {
    const to = indexAt(event);
    const start = from;
    setFrom(undefined);
    if (start === undefined) return;
    if (start !== to) onRange?.(startOf(Math.min(start, to)), startOf(Math.max(start, to)) + stepMs);
    else {
      const [hit] = document.elementsFromPoint(event.clientX, event.clientY);
      onPick?.(startOf(to), startOf(to) + stepMs, (hit as SVGElement | undefined)?.dataset?.part);
    }
  }

  function onKey(event: KeyboardEvent): void {
    const to = {
      ArrowLeft: Math.max(0, shown - 1),
      ArrowRight: Math.min(last, shown + 1),
      Home: 0,
      End: last,
    }[event.key];
    if (to !== undefined) setAt(to);
    else if (event.key === 'Enter') onRange?.(startOf(shown), startOf(shown) + stepMs);
    else return;
    event.preventDefault();
  }

  const low = Math.min(from ?? shown, shown);
  const high = Math.max(from ?? shown, shown);
  return (
    <div
      className={isLow ? 'plot low' : 'plot'}
      role="slider"
      tabIndex={0}
      aria-label={onRange ? t`${label}. Use the arrow keys to choose a bar and Enter to open it` : label}
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={shown}
      aria-valuetext={text}
      onKeyDown={onKey}
      onFocus={(event) => event.currentTarget.matches(':focus-visible') && setAt(shown)}
      onBlur={() => setAt(undefined)}
    >
      <div
        className="plot-area"
        onPointerMove={(event) => setAt(indexAt(event))}
        onPointerLeave={() => {
          setAt(undefined);
          setFrom(undefined);
        }}
        onPointerDown={(event) => setFrom(indexAt(event))}
        onPointerUp={onUp}
      >
        {rows.map(({ marks, ticks, isStrip }, row) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the rows of a plot keep their places
          <div key={row} className={isStrip ? 'plot-row strip' : 'plot-row'}>
            {ticks.map((tick) => (
              <span key={tick.at} className="y-tick" style={{ bottom: `${tick.at * 100}%` }}>
                {tick.text}
              </span>
            ))}
            <svg viewBox={`0 0 ${count} 100`} preserveAspectRatio="none" aria-hidden="true">
              {marks}
            </svg>
          </div>
        ))}
        {at !== undefined && (
          <i
            className={from === undefined ? 'plot-cursor' : 'plot-cursor dragged'}
            style={{ left: `${(low / count) * 100}%`, width: `${((high - low + 1) / count) * 100}%` }}
          />
        )}
        {notes
          .filter(({ atMs }) => atMs >= first && shareOf(atMs) <= 1)
          .map((note) => (
            <i
              key={`${note.atMs} ${note.text}`}
              className="plot-note"
              title={note.text}
              style={{ left: `${shareOf(note.atMs) * 100}%` }}
            />
          ))}
      </div>
      <div className="x-ticks">
        {timeTicks(starts, stepMs, zone).map((index) => (
          <span key={index} style={{ left: `${(index / count) * 100}%` }}>
            {count * stepMs > 1.5 * dayMs
              ? formatDay(startOf(index), zone)
              : formatMinute(startOf(index), zone)}
          </span>
        ))}
      </div>
      {at !== undefined && (
        <div
          className={shown > last / 2 ? 'readout left' : 'readout'}
          style={{ left: `${((shown + 0.5) / count) * 100}%` }}
        >
          {text}
        </div>
      )}
    </div>
  );
}
