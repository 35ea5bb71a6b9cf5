import { Link, useLocation } from '@tanstack/react-router';
import { ApiProblem, remedyOf, ServiceAway } from '../api/problem';
import { CopyButton } from './copy-button';

/** An error in the API's own words, with what to do and the request ID. */
export function ProblemNote({ error, onRetry }: { error: unknown; onRetry?: (() => void) | undefined }) {
  const problem = error instanceof ApiProblem ? error : undefined;
  const isAway = error instanceof ServiceAway;
  const remedy = remedyOf(error);
  return (
    <div className={`why ${isAway ? 'warn' : ''}`} role="alert">
      <b>{problem?.title ?? (isAway ? 'The service is away' : 'Something went wrong')}</b>
      <p>
        {error instanceof Error ? error.message : String(error)} {remedy}
      </p>
      {problem && problem.faults.length > 1 && (
        <ul>
          {problem.faults.map((fault) => (
            <li key={`${fault.pointer ?? fault.parameter} ${fault.code} ${fault.detail}`}>
              <code>{fault.pointer ?? fault.parameter}</code> {fault.detail}
            </li>
          ))}
        </ul>
      )}
      {problem?.requestId && (
        <p className="small">
          Request <code>{problem.requestId}</code>{' '}
          <CopyButton text={problem.requestId} what="the request ID" />
        </p>
      )}
      {onRetry && (
        <div className="actions">
          {problem?.code === 'not_found' ? (
            <ListLink />
          ) : (
            <button type="button" className="btn" onClick={onRetry}>
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

/** Leads from something that does not exist to the list of what does. */
function ListLink() {
  const path = useLocation({ select: ({ pathname }) => pathname });
  const list = lists.find(({ part }) => part.test(path));
  return (
    <Link to={list?.to ?? '/'} className="btn">
      {list?.name ?? 'Overview'}
    </Link>
  );
}
