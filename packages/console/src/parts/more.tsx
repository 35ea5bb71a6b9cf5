import { formatCount } from '../format';
import { ClockTime } from './time';

/** The end of a list: how many rows are shown, and a button that loads more. */
export function More({
  count,
  one,
  many,
  searchedTo,
  query,
}: {
  count: number;
  one: string;
  many: string;
  /** How far back the list was searched, if that is further than its last row. */
  searchedTo?: string | undefined;
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
          {buttonText(searchedTo !== undefined, isFetchingNextPage)}
        </button>
      )}
      <span role="status">
        {hasNextPage
          ? `${formatCount(count)} shown, newest first`
          : count === 1
            ? `1 ${one}`
            : `All ${formatCount(count)} ${many}`}
        {hasNextPage && searchedTo && (
          <>
            , searched back to <ClockTime at={searchedTo} />
          </>
        )}
      </span>
    </div>
  );
}

function buttonText(isSearch: boolean, isLoading: boolean): string {
  if (isSearch) return isLoading ? 'Searching…' : 'Search further';
  return isLoading ? 'Loading…' : 'Show more';
}
