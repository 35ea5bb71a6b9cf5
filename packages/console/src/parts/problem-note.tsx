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
          <button type="button" className="btn" onClick={onRetry}>
            Try again
          </button>
        </div>
      )}
    </div>
  );
}
