import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { isUnreachable, problemIn } from '../api/problem';
import { ProblemNote } from './problem-note';

/**
 * Shows what a query returned: old data while new data loads. If that fails, the old data stays below the error, with
 * what was typed into it, unless it no longer exists.
 */
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
  const note = error && !isUnreachable(error) && <ProblemNote error={error} onRetry={() => void refetch()} />;
  if (data !== undefined && problemIn(error)?.code !== 'not_found') {
    return (
      <>
        {note}
        <div className={isPlaceholderData ? 'dimmed' : undefined}>{children(data)}</div>
      </>
    );
  }
  // While the service is unreachable, a banner says so, and everything is loaded again when it is back.
  return note || (skeleton ?? <Skeleton {...(lines !== undefined && { lines })} />);
}

/** Stands in for lines that are still loading. */
export function Skeleton({ lines = 6 }: { lines?: number }) {
  return (
    <div className="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all the same
        <i key={line} />
      ))}
    </div>
  );
}
