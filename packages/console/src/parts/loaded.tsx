import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { isUnreachable } from '../api/problem';
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
  /** What to show while loading, instead of placeholder lines. */
  bones?: ReactNode;
  children: (data: T) => ReactNode;
}) {
  const { data, error, isPlaceholderData, refetch } = query;
  if (data !== undefined && !(error && !isUnreachable(error))) {
    return <div className={isPlaceholderData ? 'dimmed' : undefined}>{children(data)}</div>;
  }
  // While the service is unreachable, a banner says so, and everything is loaded again when it is back.
  if (!error || isUnreachable(error)) return bones ?? <Bones {...(lines !== undefined && { lines })} />;
  return <ProblemNote error={error} onRetry={() => void refetch()} />;
}
