import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { isAway } from '../api/problem';
import { Bones } from './bones';
import { ProblemNote } from './problem-note';

/** Shows what a query returned: old data while new data loads, an error if there is nothing else to show. */
export function Loaded<T>({
  query,
  lines,
  bones,
  children,
}: {
  query: UseQueryResult<T>;
  lines?: number;
  /** What to show until there is something, in place of plain lines. */
  bones?: ReactNode;
  children: (data: T) => ReactNode;
}) {
  const { data, error, isPlaceholderData, refetch } = query;
  if (data !== undefined && !(error && !isAway(error))) {
    return <div className={isPlaceholderData ? 'dimmed' : undefined}>{children(data)}</div>;
  }
  // While the service is away, a banner says so, and everything is loaded again on its return.
  if (!error || isAway(error)) return bones ?? <Bones {...(lines !== undefined && { lines })} />;
  return <ProblemNote error={error} onRetry={() => void refetch()} />;
}
