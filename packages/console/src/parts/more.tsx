import { formatCount } from '../format';

/** The end of a list: how many rows are shown, and a button that loads more. */
export function More({
  count,
  one,
  many,
  query,
}: {
  count: number;
  one: string;
  many: string;
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
        {hasNextPage
          ? `${formatCount(count)} shown, newest first`
          : count === 1
            ? `1 ${one}`
            : `All ${formatCount(count)} ${many}`}
      </span>
    </div>
  );
}
