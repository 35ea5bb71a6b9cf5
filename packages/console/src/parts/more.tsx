import { formatCount } from '../format';

/** The end of a list: how much is shown, and the way to more. */
export function More({
  count,
  noun,
  query,
}: {
  count: number;
  noun: string;
  query: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown };
}) {
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  return (
    <div className="more">
      {hasNextPage && (
        <button
          type="button"
          className="btn"
          disabled={isFetchingNextPage}
          onClick={() => void fetchNextPage()}
        >
          {isFetchingNextPage ? 'Loading…' : 'Show more'}
        </button>
      )}
      <span>
        {hasNextPage ? `${formatCount(count)} shown, newest first` : `All ${formatCount(count)} ${noun}`}
      </span>
    </div>
  );
}
