import { type ErrorComponentProps, Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { connection } from '../api/connection';
import { useStore } from '../browser/store';
import { Note } from '../parts/note';
import { Empty, ProblemNote, Skeleton } from '../parts/states';
import { t } from '../text/language';
import { isMissingPart, reloadWhenReachable } from './late-parts';

export function ViewError({ error, reset }: ErrorComponentProps) {
  const isMissing = isMissingPart(error);
  const [isChecked, setChecked] = useState(!isMissing);
  const { kind } = useStore(connection);
  useEffect(() => {
    if (!isMissing) return;
    const left = new AbortController();
    void reloadWhenReachable(left.signal).then((reloads) => setChecked(!reloads));
    return () => left.abort();
  }, [isMissing]);
  if (isMissing && kind === 'unreachable') {
    return (
      <Note kind="warn" role="alert" title={t`This view opens when the service is back`}>
        <p>{t`It has not been loaded yet. You do not need to do anything.`}</p>
      </Note>
    );
  }
  // It is not known yet whether the service is unreachable.
  if (!isChecked) return <Skeleton />;
  return <ProblemNote error={error} onRetry={isMissing ? () => location.reload() : reset} />;
}

export function NotFound() {
  return (
    <Empty
      title={t`Page not found`}
      isPage
      actions={<Link to="/" className="btn">{t`Go to the overview`}</Link>}
    >
      <p>{t`The address may be incomplete. To find something by its ID, use the search at the top.`}</p>
    </Empty>
  );
}
