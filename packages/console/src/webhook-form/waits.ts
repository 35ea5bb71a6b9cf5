import { useSettings } from '../api/settings';
import { formatDuration, formatMs } from '../text/format';
import { language, plural, t } from '../text/language';

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const waitMsMax = 30 * unitMs.d;
const waitsMax = 19;

/** Returns the waits in a text such as `30s, 10 min, 6h` as the API expects them, or null if there is none. */
export function waitsIn(text: string): string[] | null {
  const waits = text.toLowerCase().match(/\d+\s*[a-z]+|[^\s,]+/g);
  return waits?.map((wait) => wait.replace(/\s/g, '').replace(/^(\d+)min$/, '$1m')) ?? null;
}

/** Returns a duration such as `10m` in milliseconds, or undefined if it cannot be a wait. */
function waitMs(wait: string): number | undefined {
  const [, count, unit] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(wait) ?? [];
  const ms = Number(count) * unitMs[unit as keyof typeof unitMs];
  return ms > 0 && ms <= waitMsMax ? ms : undefined;
}

/** Returns what is wrong with waits. */
export function waitsFaultOf(waits: readonly string[]): string | undefined {
  if (waits.length > waitsMax) return t`At most ${waitsMax} waits are possible.`;
  const wrong = waits.find((wait) => waitMs(wait) === undefined);
  return wrong && t`${wrong} is not a wait. Use 1ms to 30d, such as 30s, 10m, 6h or 2d.`;
}

/** `5 attempts over 13 h 5 min` */
export function attemptsText(waitsMs: readonly number[]): string {
  const sumMs = waitsMs.reduce((sum, ms) => sum + ms, 0);
  return plural(waitsMs.length + 1, '{0} attempt', '{0} attempts over {1}', waitText(sumMs));
}

const list = new Intl.ListFormat(language === 'en' ? 'en-GB' : language);

/** `5 attempts over 13 h 5 min: at once, then after 5 s, 5 min, 1 h and 12 h` */
export function scheduleText(waitsMs: readonly number[]): string {
  return t`${attemptsText(waitsMs)}: at once, then after ${list.format(waitsMs.map(waitText))}`;
}

/** Returns these waits in milliseconds, or those of the service. */
export function useWaitsMs(waits: readonly string[] | null | undefined): readonly number[] {
  const { retry_waits_ms } = useSettings();
  return waits ? waits.map((wait) => waitMs(wait) ?? 0) : retry_waits_ms;
}

const waitText = (ms: number) => (ms < 1_000 ? formatMs(ms) : formatDuration(ms));
