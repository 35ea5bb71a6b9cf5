import { formatMs } from '../text/format';
import { t } from '../text/language';
import type { StatsBars } from './bars';
import { Plot } from './plot';

/** A duration over time: the median as a line and what 95% stay below as a band, on a scale of powers of ten. */
export function BandChart({ bars: { p50, p95, starts, stepMs }, label }: { bars: StatsBars; label: string }) {
  const known = p50.flatMap((low, index) => (low > 0 ? [low, p95[index] ?? low] : []));
  const least = Math.floor(Math.log10(Math.max(1, Math.min(...known))));
  const most = Math.max(least + 1, Math.ceil(Math.log10(Math.max(1, ...known))));
  const shareOf = (ms: number) => (Math.log10(Math.max(1, ms)) - least) / (most - least);
  const y = (ms: number) => 100 - shareOf(ms) * 100;
  const ticks = Array.from({ length: most - least + 1 }, (_, index) => 10 ** (least + index));
  return (
    <Plot
      starts={starts}
      stepMs={stepMs}
      label={label}
      isLow
      textOf={(index) =>
        p50[index] ? `p50 ${formatMs(p50[index])} · p95 ${formatMs(p95[index] ?? 0)}` : t`no responses`
      }
      rows={[
        {
          ticks: ticks.map((ms) => ({ at: shareOf(ms), text: formatMs(ms) })),
          marks: (
            <>
              {ticks.map((ms) => (
                <line key={ms} x1="0" x2="100%" y1={y(ms)} y2={y(ms)} />
              ))}
              {runsOf(p50).map((run) => {
                const [start, end] = [run[0]!, run.at(-1)! + 1];
                const points = (values: readonly number[], of = run) =>
                  of.map((index) => `${index + 0.5},${y(values[index] ?? 0)}`);
                // The edges of a run reach as far as its bars would, so that a single one can be seen.
                const edged = (values: readonly number[]) => [
                  `${start},${y(values[start] ?? 0)}`,
                  ...points(values),
                  `${end},${y(values[end - 1] ?? 0)}`,
                ];
                return (
                  <g key={start}>
                    <polygon className="band" points={[...edged(p95), ...edged(p50).reverse()].join(' ')} />
                    <polyline points={edged(p50).join(' ')} />
                  </g>
                );
              })}
            </>
          ),
        },
      ]}
    />
  );
}

/** Returns the runs of steps with responses. Between them, there is no line. */
function runsOf(values: readonly number[]): number[][] {
  const runs: number[][] = [];
  values.forEach((value, index) => {
    if (value <= 0) return;
    const run = runs.at(-1);
    if (run?.at(-1) === index - 1) run.push(index);
    else runs.push([index]);
  });
  return runs;
}
