export function median(values) {
  return percentile(values, 0.5);
}

export function percentile(values, fraction) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))];
}

/** Returns the p50 and p99 of delays in milliseconds, as text for a line of figures. */
export const p50AndP99 = (delays) =>
  delays.length === 0
    ? 'none'
    : `${percentile(delays, 0.5).toFixed(1)} ${percentile(delays, 0.99).toFixed(1)} ms`;
