import type { UseInfiniteQueryResult, UseQueryResult } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import { problemIn } from '../api/problem';
import { Button } from '../parts/button';
import { ProblemNote, Skeleton } from '../parts/states';
import { formatCount } from '../text/format';
import { rich, t } from '../text/language';
import { ClockTime } from '../text/time';
import { rememberLastRow } from './place';

/** What loads the next page of a list. */
export type Pages = Pick<
  UseInfiniteQueryResult,
  'error' | 'hasNextPage' | 'isFetchingNextPage' | 'isFetchNextPageError' | 'fetchNextPage'
>;

/** Says why the next page of a list could not be loaded, where it would begin. */
export function MoreError({ query }: { query: Pages }) {
  if (!query.isFetchNextPageError || !problemIn(query.error)) return null;
  return <ProblemNote error={query.error} onRetry={() => void query.fetchNextPage()} />;
}

/** Loads the next page. Meanwhile, the button keeps the focus, which a disabled one would lose. */
export function MoreButton({
  query,
  isSearch,
  onPress,
}: {
  query: Pages;
  isSearch: boolean;
  onPress?: () => void;
}) {
  const { isFetchingNextPage, fetchNextPage } = query;
  return (
    <Button
      aria-disabled={isFetchingNextPage}
      onClick={() => {
        if (isFetchingNextPage) return;
        onPress?.();
        void fetchNextPage();
      }}
    >
      {buttonText(isSearch, isFetchingNextPage)}
    </Button>
  );
}

/**
 * A list that is read page by page: its rows, what says why there are none, or what stands in for them until then. At its
 * end: how many rows are shown, and a button that loads more.
 */
export function Listed({
  query,
  count,
  all,
  searchedTo,
  empty,
  children,
}: {
  query: Pages & Pick<UseQueryResult, 'data' | 'isPlaceholderData' | 'refetch'>;
  count: number;
  /** Says how many rows there are, once all are shown. */
  all: string;
  /** How far back the list was searched, if that is further than its last row. */
  searchedTo?: string | undefined;
  empty: ReactNode;
  children: ReactNode;
}) {
  const { data, error, hasNextPage, isFetchNextPageError, isPlaceholderData, refetch } = query;
  const problem = problemIn(error);
  const { history } = useRouter();
  const end = useRef<HTMLDivElement>(null);
  const lastLink = useRef<HTMLElement>(undefined);
  useEffect(() => {
    // The focus was on the button, which is gone.
    if (hasNextPage || !lastLink.current || document.activeElement !== document.body) return;
    const links = linksBefore(end.current);
    const at = links.indexOf(lastLink.current);
    if (at >= 0) links[at + 1]?.focus();
  }, [hasNextPage]);
  return (
    <>
      {problem && !isFetchNextPageError && <ProblemNote error={problem} onRetry={() => void refetch()} />}
      {!data && !problem && <Skeleton lines={10} />}
      {data !== undefined && count === 0 && empty}
      {count > 0 && (
        <div className={isPlaceholderData ? 'dimmed' : undefined}>
          {children}
          <MoreError query={query} />
          <div className="more soft small" ref={end}>
            {hasNextPage && (
              <MoreButton
                query={query}
                isSearch={searchedTo !== undefined}
                onPress={() => {
                  lastLink.current = linksBefore(end.current).at(-1);
                  rememberLastRow(history.location);
                }}
              />
            )}
            <span role="status">
              {hasNextPage ? t`${formatCount(count)} shown, newest first` : all}
              {hasNextPage && searchedTo && <>, {rich`searched back to ${<ClockTime at={searchedTo} />}`}</>}
            </span>
          </div>
        </div>
      )}
    </>
  );
}

/** The links of the list that ends here. */
function linksBefore(end: HTMLElement | null): HTMLElement[] {
  return [...(end?.parentElement?.querySelectorAll<HTMLElement>('table a, .entry a') ?? [])];
}

function buttonText(isSearch: boolean, isLoading: boolean): string {
  if (isSearch) return isLoading ? t`Searching…` : t`Search further`;
  return isLoading ? t`Loading…` : t`Show more`;
}
