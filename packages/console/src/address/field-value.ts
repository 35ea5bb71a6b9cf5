import { useState } from 'react';

interface Entered<T> {
  value: T;
  /** The values that the URL may still have before it reaches this one. */
  expected: readonly T[];
}

/** Returns what was entered once the URL has changed, or undefined if something else has changed the URL. */
function afterUrl<T>(entered: Entered<T>, inUrl: T): Entered<T> | undefined {
  const index = entered.expected.indexOf(inUrl);
  return index < 0 ? undefined : { ...entered, expected: entered.expected.slice(index + 1) };
}

/**
 * Returns the value for a field that shows a part of the URL. The URL changes a little later than the field, so the
 * field shows what was entered until something else changes the URL: if it were set back at each key, the text would
 * be garbled.
 */
export function useFieldValue<T extends string | boolean>(inUrl: T, onChange: (value: T) => void) {
  const [entered, setEntered] = useState<Entered<T>>();
  const [known, setKnown] = useState(inUrl);
  if (known !== inUrl) {
    setKnown(inUrl);
    setEntered(entered && afterUrl(entered, inUrl));
  }
  return {
    value: entered ? entered.value : inUrl,
    change: (value: T) => {
      setEntered((now) => ({ value, expected: [...(now?.expected ?? []), value] }));
      onChange(value);
    },
    /** Shows what is in the URL again. */
    reset: () => setEntered(undefined),
  };
}
