import type { Event } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { type EventWithText, eventQuery, subjectHistoryQuery } from '../api/events';
import { curlOfPath } from '../code/curl';
import { JsonBlock, PrettySwitch } from '../code/json-text';
import { Button } from '../parts/button';
import { copyText } from '../parts/copy';
import { Breadcrumb, Identifier } from '../parts/head';
import { EventLink } from '../parts/links';
import { Loaded } from '../parts/states';
import { Forbidden } from '../session/forbidden';
import { usePermission } from '../session/token';
import { useShownItem } from '../shell/views';
import { t } from '../text/language';
import { ClockTime, ExactTime } from '../text/time';
import { EventWay } from './event-way';

export function EventDetail() {
  const { eventId } = useParams({ from: '/events/$eventId' });
  return <EventView eventId={eventId} />;
}

/** An event, on a page of its own or beside its list. */
export function EventView({ eventId }: { eventId: string }) {
  const may = usePermission();
  const event = useQuery({ ...eventQuery(eventId), enabled: may.readEvents });
  useShownItem(event.data?.event.type);
  if (!may.readEvents) return <Forbidden action={t`see events`} scopes={['events:read']} />;
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
  const isRaw = useSearch({ strict: false }).text === 'raw';
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
          <dl className="facts">
            <dt>{t`Recorded`}</dt>
            <dd>
              <ExactTime at={event.created_at} />
            </dd>
            <dt>{t`Subject`}</dt>
            <dd>
              {event.subject.type}{' '}
              <Link to="/events" search={{ subject_id: event.subject.id }} className="link mono">
                {event.subject.id}
              </Link>
            </dd>
            <dt>{t`Actor`}</dt>
            <dd>
              {event.actor.type}{' '}
              <Link to="/events" search={{ actor_id: event.actor.id }} className="link mono">
                {event.actor.id}
              </Link>
            </dd>
            <dt>{t`Workspace`}</dt>
            <dd>{event.workspace_id ? <code>{event.workspace_id}</code> : t`whole organization`}</dd>
          </dl>
          {may.readWebhooks && <EventWay event={event} />}
          <SubjectHistory event={event} />
        </div>
        <div className="stack">
          <JsonBlock
            title={t`Payload`}
            text={payloadText}
            what={t`the payload`}
            aside={<PrettySwitch label={t`Payload format`} isRaw={isRaw} />}
            isRaw={isRaw}
          />
        </div>
      </div>
    </>
  );
}

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
