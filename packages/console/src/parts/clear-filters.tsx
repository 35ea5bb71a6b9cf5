import { useNavigate } from '@tanstack/react-router';

/** Removes all filters from the URL. The live switch and the tab stay. */
export function ClearFilters() {
  const navigate = useNavigate();
  return (
    <button
      type="button"
      className="btn"
      onClick={() => void navigate({ to: '.', search: ({ live, tab }) => ({ live, tab }) as never })}
    >
      Clear the filters
    </button>
  );
}
