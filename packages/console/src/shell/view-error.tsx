import { type ErrorComponentProps, Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { isMissingPart, reloadWhenReachable } from '../missing-part';
import { Empty } from '../parts/empty';
import { ProblemNote } from '../parts/problem-note';

export function ViewError({ error, reset }: ErrorComponentProps) {
  const isMissing = isMissingPart(error);
  useEffect(() => {
    if (isMissing) void reloadWhenReachable();
  }, [isMissing]);
  return <ProblemNote error={error} onRetry={isMissing ? () => location.reload() : reset} />;
}

export function NotFound() {
  return (
    <Empty
      title="Page not found"
      isPage
      actions={
        <Link to="/" className="btn">
          Go to the overview
        </Link>
      }
    >
      <p>The address may be incomplete. To find something by its ID, use the search at the top.</p>
    </Empty>
  );
}
