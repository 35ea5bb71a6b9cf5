import { useNow } from '../clock';
import { connection } from '../connection';
import { formatDuration } from '../format';
import { useStore } from '../store';

/** Says calmly that the service is away, or that we wait for the rate limit. */
export function Banner() {
  const state = useStore(connection);
  const now = useNow();
  if (state.kind === 'up') return null;
  return (
    <div className="banner" role="status">
      {state.kind === 'away' ? (
        <span>
          <b>The service is away.</b> What you see is from before. The console comes back by itself.
        </span>
      ) : (
        <span>
          <b>Too many requests.</b> Continues in {formatDuration(Math.max(1_000, state.until - now))}.
        </span>
      )}
    </div>
  );
}
