import { problemIn } from '../api/problem';
import { formatCount } from '../format';
import { ProblemNote } from './problem-note';
import { ClockTime } from './time';

/** What loads the next page of a list. */
export interface Pages {
  error: unknown;
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  isFetchNextPageError: boolean;
  fetchNextPage: () => unknown;
}

/** Says why the next page of a list could not be loaded, where it would begin. */
export function MoreError({ query }: { query: Pages }) {
  if (!query.isFetchNextPageError || !problemIn(query.error)) return null;
  return <ProblemNote error={query.error} onRetry={() => void query.fetchNextPage()} />;
}

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
  query: Pages;
}) {
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  return (
    <>
      <MoreError query={query} />
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
    </>
  );
}

function buttonText(isSearch: boolean, isLoading: boolean): string {
  if (isSearch) return isLoading ? 'Searching…' : 'Search further';
  return isLoading ? 'Loading…' : 'Show more';
}
