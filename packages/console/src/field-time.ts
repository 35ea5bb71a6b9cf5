import type { Zone } from './preferences';

/** Before this, a year is still being typed: 0002, 0020, 0202. */
const firstMs = Date.UTC(1970, 0);
const lastMs = Date.UTC(9999, 11, 31);

const isTime = (ms: number) => ms >= firstMs && ms <= lastMs;

/**
 * Returns a time in the format of the browser's date and time field, which leaves out zero seconds, or an empty text if
 * it is not a time.
 */
export function fieldTextOf(iso: string, zone: Zone): string {
  const at = new Date(iso);
  if (!isTime(at.getTime())) return '';
  const aheadMs = zone === 'utc' ? 0 : -at.getTimezoneOffset() * 60_000;
  return new Date(at.getTime() + aheadMs).toISOString().slice(0, 19).replace(/:00$/, '');
}

/**
 * Returns the time in the browser's date and time field, or undefined if it is incomplete. At the end of daylight
 * saving time, a text can mean two times: this returns the one with the same offset as `before`.
 */
export function timeInField(text: string, zone: Zone, before: string): string | undefined {
  // Without a zone, a date with a time is local.
  const at = new Date(zone === 'utc' ? `${text}Z` : text);
  if (!isTime(at.getTime())) return undefined;
  if (zone === 'utc') return at.toISOString();
  const sameOffset = new Date(Date.parse(`${text}Z`) + new Date(before).getTimezoneOffset() * 60_000);
  const isSameText =
    isTime(sameOffset.getTime()) &&
    fieldTextOf(sameOffset.toISOString(), zone) === fieldTextOf(at.toISOString(), zone);
  return (isSameText ? sameOffset : at).toISOString();
}
