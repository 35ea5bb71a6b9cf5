import type { Event } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { subjectHistoryQuery } from '../../api/events';
import { ClockTime } from '../../parts/time';

/** What happened to the subject before and after, newest first. */
export function SubjectHistory({ event }: { event: Event }) {
  const { data: history } = useQuery(subjectHistoryQuery(event));
  if (!history || history.data.length < 2) return null;
  return (
    <section>
      <div className="section-head">
        <h2>History of {event.subject.id}</h2>
        <span className="grow" />
        {history.hasMore && (
          <Link to="/events" search={{ subject_id: event.subject.id }} className="link">
            Full history
          </Link>
        )}
      </div>
      <ol className="timeline">
        {history.data.map((one) => (
          <li key={one.id} className={one.id === event.id ? 'here' : undefined}>
            <div className="line">
              {one.id === event.id ? (
                <b className="mono">{one.type}</b>
              ) : (
                <Link to="/events/$eventId" params={{ eventId: one.id }} className="mono">
                  {one.type}
                </Link>
              )}
              <span className="soft small">
                <ClockTime at={one.created_at} /> · {one.actor.id}
              </span>
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}
