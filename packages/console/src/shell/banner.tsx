import { useNow } from '../clock';
import { connection } from '../connection';
import { formatDuration } from '../format';
import { useStore } from '../store';

/** Says that the service is unreachable, or that the console is waiting because of the rate limit. */
export function Banner() {
  const state = useStore(connection);
  const now = useNow();
  if (state.kind === 'up') return null;
  return (
    <div className="banner" role="status">
      {state.kind === 'unreachable' ? (
        <span>
          <b>The service is unreachable.</b> The console will reconnect automatically. Until then, this page
          is not updated.
        </span>
      ) : (
        <span>
          <b>Too many requests.</b> The console resumes in{' '}
          {formatDuration(Math.max(1_000, state.until - now))}.
        </span>
      )}
    </div>
  );
}
