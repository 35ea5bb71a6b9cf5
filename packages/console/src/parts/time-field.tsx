import { fieldTextOf, timeInField } from '../field-time';
import { useFieldValue } from '../field-value';
import { zone } from '../preferences';
import { useStore } from '../store';

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
  const shownZone = useStore(zone);
  const field = useFieldValue(fieldTextOf(value, shownZone), (text) => {
    const at = timeInField(text, shownZone, value);
    if (at !== undefined) onChange(at);
  });
  return (
    <label className="field">
      <span className="label">
        {label} <span className="soft">({shownZone === 'utc' ? 'UTC' : 'local time'})</span>
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
