import { PosthornError } from '@posthorn/client';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { hasNoResponse, isUnreachable, messageOf, problemIn, remedyOf } from '../api/problem';
import { rich, t } from '../text/language';
import { Button } from './button';
import { CopyButton } from './copy';

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
    <div className="skeleton" role="status" aria-label={t`Loading`}>
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all the same
        <i key={line} />
      ))}
    </div>
  );
}

/** An error as the API describes it, with what to do about it and the request ID. */
export function ProblemNote({
  error,
  isAction = false,
  onRetry,
}: {
  error: unknown;
  /** Whether the error is from an action of the user, not from reading data. */
  isAction?: boolean;
  onRetry?: (() => void) | undefined;
}) {
  const problem = problemIn(error);
  // The note of an action stays when the service is reachable again.
  const isUnsure = isAction && hasNoResponse(error);
  const title = error instanceof PosthornError ? error.title : undefined;
  return (
    <div className={isUnsure || isUnreachable(error) ? 'note warn' : 'note'} role="alert">
      <b>
        {isUnsure
          ? t`The outcome is unknown`
          : (title ?? (isUnreachable(error) ? t`The service is unreachable` : t`Something went wrong`))}
      </b>
      <p>
        {messageOf(error)} {remedyOf(error, isAction)}
      </p>
      {problem && problem.errors.length > 1 && (
        <ul>
          {problem.errors.map((fault) => (
            <li key={`${fault.pointer ?? fault.parameter} ${fault.code} ${fault.detail}`}>
              <code>{fault.pointer ?? fault.parameter}</code> {fault.detail}
            </li>
          ))}
        </ul>
      )}
      {problem?.requestId && (
        <p className="small">
          {rich`Request ID ${<code>{problem.requestId}</code>} ${<CopyButton text={problem.requestId} what={t`the request ID`} />}`}
        </p>
      )}
      {onRetry && problem?.code !== 'not_found' && (
        <div className="actions">
          <Button kind="slim" onClick={onRetry}>{t`Try again`}</Button>
        </div>
      )}
    </div>
  );
}

/** Says what to do when there is nothing to show yet. */
export function Empty({
  title,
  isPage = false,
  children,
  actions,
}: {
  title: string;
  /** Whether there is nothing else on the page. */
  isPage?: boolean;
  children: ReactNode;
  actions?: ReactNode;
}) {
  return (
    <section className={isPage ? 'empty page' : 'empty'}>
      {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children}
      {actions && <div className="actions">{actions}</div>}
    </section>
  );
}
