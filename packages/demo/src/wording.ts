const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** Formats a count as `12,345`. */
export function whole(count: number): string {
  return grouped.format(count);
}

/** Formats a count up to a billion in at most four characters: `9999`, `12k`, `3M`. */
export function compact(count: number): string {
  if (count < 10_000) return String(count);
  return count < 1_000_000 ? `${Math.floor(count / 1_000)}k` : `${Math.floor(count / 1_000_000)}M`;
}

/** Formats a duration as `8 ms` or `1.2 s`, or as `-` if there is none. */
export function milliseconds(ms: number | null): string {
  if (ms === null) return '-';
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/** Formats a duration as `0:09`, `12:34` or `1:02:03`. */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (part: number) => String(part).padStart(2, '0');
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** Formats a rate with useful precision: `20`, `19.7`, `0.25`. */
export function perSecond(rate: number): string {
  const digits = rate >= 100 ? 0 : rate >= 1 ? 1 : 2;
  return String(Number(rate.toFixed(digits)));
}

/** Formats a duration like a setting: `500ms`, `20s`, `5m`, `2h`. */
export function wait(ms: number): string {
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000}h`;
  if (ms % 60_000 === 0) return `${ms / 60_000}m`;
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
}
