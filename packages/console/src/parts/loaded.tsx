import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { isUnreachable } from '../api/problem';
import { ProblemNote } from './problem-note';
import { Skeleton } from './skeleton';

/** Shows what a query returned: old data while new data loads, an error if there is nothing else to show. */
export function Loaded<T>({
  query,
  lines,
  skeleton,
  children,
}: {
  query: UseQueryResult<T>;
  lines?: number;
  /** What to show while loading, instead of placeholder lines. */
  skeleton?: ReactNode;
  children: (data: T) => ReactNode;
}) {
  const { data, error, isPlaceholderData, refetch } = query;
  if (data !== undefined && !(error && !isUnreachable(error))) {
    return <div className={isPlaceholderData ? 'dimmed' : undefined}>{children(data)}</div>;
  }
  // While the service is unreachable, a banner says so, and everything is loaded again when it is back.
  if (!error || isUnreachable(error)) return skeleton ?? <Skeleton {...(lines !== undefined && { lines })} />;
  return <ProblemNote error={error} onRetry={() => void refetch()} />;
}
