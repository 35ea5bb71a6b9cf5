import { useFieldValue } from '../address/field-value';
import { useZone, type Zone } from '../browser/preferences';
import { t } from '../text/language';

/** A field for a time that is kept in the URL, in the zone in which the console shows times. */
export function TimeField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (iso: string) => void;
}) {
  const shownZone = useZone();
  const field = useFieldValue(fieldTextOf(value, shownZone), (text) => {
    const at = timeInField(text, shownZone, value);
    if (at !== undefined) onChange(at);
  });
  return (
    <label className="field">
      <span className="label">
        {label} <span className="soft">({shownZone === 'utc' ? t`UTC` : t`local time`})</span>
      </span>
      <input
        className="input"
        type="datetime-local"
        step={1}
        // With these limits, a year can have only four digits: browsers would allow six, and accept two.
        min="1970-01-01T00:00"
        max="9999-12-31T23:59:59"
        value={field.value}
        onChange={(event) => field.change(event.target.value)}
        // An incomplete time is not used, so it is not left in the field.
        onBlur={field.reset}
      />
    </label>
  );
}

/** Before this, a year is still being typed: 0002, 0020, 0202. */
const firstMs = Date.UTC(1970, 0);
const lastMs = Date.UTC(9999, 11, 31);

const isTime = (ms: number) => ms >= firstMs && ms <= lastMs;

/**
 * Returns a time in the format of the browser's date and time field, which leaves out zero seconds, or an empty text if
 * it is not a time.
 */
function fieldTextOf(iso: string, zone: Zone): string {
  const at = new Date(iso);
  if (!isTime(at.getTime())) return '';
  const aheadMs = zone === 'utc' ? 0 : -at.getTimezoneOffset() * 60_000;
  return new Date(at.getTime() + aheadMs).toISOString().slice(0, 19).replace(/:00$/, '');
}

/**
 * Returns the time in the browser's date and time field, or undefined if it is incomplete. At the end of daylight
 * saving time, a text can mean two times: this returns the one with the same offset as `before`.
 */
function timeInField(text: string, zone: Zone, before: string): string | undefined {
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
