import { useNavigate } from '@tanstack/react-router';
import { useFieldValue } from '../field-value';

/** The field that `/` focuses. What is typed is kept in the URL as `q`. */
export function FilterInput({
  label,
  placeholder,
  value,
}: {
  label: string;
  placeholder: string;
  value: string;
}) {
  const navigate = useNavigate();
  const field = useFieldValue(
    value,
    (q) =>
      void navigate({
        to: '.',
        search: (now) => ({ ...now, q: q || undefined }) as never,
        replace: true,
        resetScroll: false,
      }),
  );
  return (
    <input
      data-filter
      className="filter-input"
      type="search"
      aria-label={label}
      placeholder={placeholder}
      value={field.value}
      onChange={(event) => field.change(event.target.value)}
    />
  );
}
