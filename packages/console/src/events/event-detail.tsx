import type { Event } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { type EventWithText, eventQuery, subjectHistoryQuery } from '../api/events';
import { curlOfPath } from '../code/curl';
import { JsonBlock, PrettySwitch, useIsRaw } from '../code/json-text';
import { Button } from '../parts/button';
import { copyText } from '../parts/copy';
import { Facts } from '../parts/facts';
import { Breadcrumb, Identifier } from '../parts/head';
import { EventLink } from '../parts/links';
import { Loaded } from '../parts/states';
import { usePermission } from '../session/token';
import { useShownItem } from '../shell/views';
import { rich, t } from '../text/language';
import { ClockTime, ExactTime } from '../text/time';
import { EventWay } from './event-way';

export function EventDetail() {
  const { eventId } = useParams({ from: '/events/$eventId' });
  return <EventView eventId={eventId} />;
}

/** An event, on a page of its own or beside its list. */
export function EventView({ eventId }: { eventId: string }) {
  const event = useQuery(eventQuery(eventId));
  useShownItem(event.data?.event.type);
  return (
    <>
      <Breadcrumb>
        <Link to="/events">{t`Events`}</Link>
      </Breadcrumb>
      <Loaded query={event}>{(data) => <Body found={data} />}</Loaded>
    </>
  );
}

function Body({ found: { event, payloadText } }: { found: EventWithText }) {
  const may = usePermission();
  return (
    <>
      <div className="head">
        <h1 className="mono">{event.type}</h1>
        <Identifier id={event.id} />
        <span className="grow" />
        <Button
          onClick={() => copyText(curlOfPath(`/v1/events/${event.id}`), t`the curl command`)}
        >{t`Copy as curl`}</Button>
      </div>
      <div className="two section">
        <div className="stack">
          <Facts
            of={[
              { name: t`Recorded`, is: <ExactTime at={event.created_at} /> },
              {
                name: t`Subject`,
                is: rich`${event.subject.type} ${linkTo({ subject_id: event.subject.id })}`,
              },
              { name: t`Actor`, is: rich`${event.actor.type} ${linkTo({ actor_id: event.actor.id })}` },
              {
                name: t`Workspace`,
                is: event.workspace_id ? <code>{event.workspace_id}</code> : t`whole organization`,
              },
            ]}
          />
          {may.readWebhooks && <EventWay event={event} />}
          <SubjectHistory event={event} />
        </div>
        <div className="stack">
          <JsonBlock
            title={t`Payload`}
            text={payloadText}
            what={t`the payload`}
            aside={<PrettySwitch label={t`Payload format`} />}
            isRaw={useIsRaw()}
          />
        </div>
      </div>
    </>
  );
}

/** The ID that a filter has, and the list of events with it. */
const linkTo = (filter: { subject_id: string } | { actor_id: string }) => (
  <Link to="/events" search={filter} className="link mono">
    {Object.values(filter)}
  </Link>
);

/** What happened to the subject before and after, newest first. */
export function SubjectHistory({ event }: { event: Event }) {
  const { data: history } = useQuery(subjectHistoryQuery(event));
  if (!history || history.data.length < 2) return null;
  return (
    <section>
      <div className="section-head">
        <h2>{t`History of ${event.subject.id}`}</h2>
        <span className="grow" />
        {history.hasMore && (
          <Link
            to="/events"
            search={{ subject_id: event.subject.id }}
            className="link"
          >{t`Full history`}</Link>
        )}
      </div>
      <ol className="timeline">
        {history.data.map((one) => (
          <li key={one.id} className={one.id === event.id ? 'here' : undefined}>
            <div className="line">
              {one.id === event.id ? (
                <b className="mono">{one.type}</b>
              ) : (
                <EventLink id={one.id} className="mono">
                  {one.type}
                </EventLink>
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
