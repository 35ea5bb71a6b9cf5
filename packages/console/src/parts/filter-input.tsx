import { useNavigate } from '@tanstack/react-router';

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
  return (
    <input
      data-filter
      className="filter-input"
      type="search"
      aria-label={label}
      placeholder={placeholder}
      value={value}
      onChange={(event) =>
        void navigate({
          to: '.',
          search: (now) => ({ ...now, q: event.target.value || undefined }) as never,
          replace: true,
          resetScroll: false,
        })
      }
    />
  );
}
