import type { ReactNode } from 'react';
import { useFieldValue } from '../field-value';

/** A choice that is kept in the URL. */
export function FilterSelect({
  label,
  value,
  isFilter = false,
  onChange,
  children,
}: {
  label: string;
  value: string;
  /** Whether `/` can focus it. */
  isFilter?: boolean;
  onChange: (value: string) => void;
  children: ReactNode;
}) {
  const field = useFieldValue(value, onChange);
  return (
    <select
      data-filter={isFilter || undefined}
      className="filter-select"
      aria-label={label}
      value={field.value}
      onChange={(event) => field.change(event.target.value)}
    >
      {children}
    </select>
  );
}
