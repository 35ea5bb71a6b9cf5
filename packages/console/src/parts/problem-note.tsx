import { PosthornError } from '@posthorn/client';
import { Link, useLocation } from '@tanstack/react-router';
import { hasNoResponse, isUnreachable, messageOf, problemIn, remedyOf } from '../api/problem';
import { CopyButton } from './copy';

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
          ? 'The outcome is unknown'
          : (title ?? (isUnreachable(error) ? 'The service is unreachable' : 'Something went wrong'))}
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
          Request ID <code>{problem.requestId}</code>{' '}
          <CopyButton text={problem.requestId} what="the request ID" />
        </p>
      )}
      {onRetry && (
        <div className="actions">
          {problem?.code === 'not_found' ? (
            <ListLink />
          ) : (
            <button type="button" className="btn slim" onClick={onRetry}>
              Try again
            </button>
          )}
        </div>
      )}
    </div>
  );
}

const lists = [
  { to: '/deliveries', part: /\/deliveries(\/|$)/, name: 'All deliveries' },
  { to: '/events', part: /\/events(\/|$)/, name: 'All events' },
  { to: '/webhooks', part: /\/webhooks(\/|$)/, name: 'All webhooks' },
] as const;

/** On a page for something that does not exist, links to the list of things that do. */
function ListLink() {
  const path = useLocation({ select: ({ pathname }) => pathname });
  const list = lists.find(({ part }) => part.test(path));
  return (
    <Link to={list?.to ?? '/'} className="btn slim">
      {list?.name ?? 'Overview'}
    </Link>
  );
}
