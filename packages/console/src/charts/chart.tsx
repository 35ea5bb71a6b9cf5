import { useEffect, useState } from 'react';
import type { BarChart, BarChartProps } from './bar-chart';

let loaded: typeof BarChart | undefined;

/** Loads the code of the charts. Call it early if a chart will be shown soon. */
export async function loadChart(): Promise<typeof BarChart> {
  loaded ??= (await import('./bar-chart')).BarChart;
  return loaded;
}

/**
 * A bar chart, or an empty placeholder until its code is loaded. With `lazy`, the chart could appear up to
 * 300 ms later, because React delays the content that replaces a fallback.
 */
export function Chart(props: BarChartProps) {
  const [Bars, setBars] = useState(() => loaded);
  useEffect(() => {
    if (!Bars) void loadChart().then((chart) => setBars(() => chart));
  }, [Bars]);
  return Bars ? <Bars {...props} /> : <div className={props.isLow ? 'plot low' : 'plot'} />;
}
