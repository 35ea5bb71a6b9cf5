import { useEffect, useState } from 'react';
import type { BarChart, BarChartProps } from './bar-chart';

let loaded: typeof BarChart | undefined;

/** Fetches the code of charts. Whoever knows that a chart will be shown calls it early. */
export async function loadChart(): Promise<typeof BarChart> {
  loaded ??= (await import('./bar-chart')).BarChart;
  return loaded;
}

/**
 * A bar chart, or its empty place until the code has come. React's `lazy` would show it up to 300 ms later, because
 * React holds back what replaces a fallback.
 */
export function Chart(props: BarChartProps) {
  const [Bars, setBars] = useState(() => loaded);
  useEffect(() => {
    if (!Bars) void loadChart().then((chart) => setBars(() => chart));
  }, [Bars]);
  return Bars ? <Bars {...props} /> : <div className={props.isLow ? 'plot low' : 'plot'} />;
}
