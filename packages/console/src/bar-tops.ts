/** Returns the top of each part of each bar. Parts are at least `partMin` high, unless they are zero. */
export function topsOf(series: readonly { values: readonly number[] }[], partMin = 0): number[][] {
  const tops: number[][] = [];
  for (const { values } of series) {
    const below = tops.at(-1);
    tops.push(
      values.map((value, index) => (value > 0 ? Math.max(value, partMin) : 0) + (below?.[index] ?? 0)),
    );
  }
  return tops;
}
