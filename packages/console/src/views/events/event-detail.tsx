import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { type EventWithText, eventQuery } from '../../api/events';
import { copyText } from '../../clipboard';
import { curlOfPath } from '../../curl';
import { Breadcrumb } from '../../parts/breadcrumb';
import { CodeBlock } from '../../parts/code-block';
import { Forbidden } from '../../parts/forbidden';
import { Identifier } from '../../parts/identifier';
import { JsonText } from '../../parts/json-text';
import { Loaded } from '../../parts/loaded';
import { PrettySwitch } from '../../parts/pretty-switch';
import { ExactTime } from '../../parts/time';
import { usePermission } from '../../permission';
import { useShownItem } from '../../shown-item';
import { EventDeliveries } from './event-deliveries';
import { SubjectHistory } from './subject-history';

export function EventDetail() {
  const may = usePermission();
  const { eventId } = useParams({ from: '/events/$eventId' });
  const event = useQuery({ ...eventQuery(eventId), enabled: may.readEvents });
  useShownItem(event.data?.event.type);
  if (!may.readEvents) return <Forbidden action="see events" scopes={['events:read']} />;
  return (
    <>
      <Breadcrumb>
        <Link to="/events">Events</Link>
      </Breadcrumb>
      <Loaded query={event}>{(data) => <Body found={data} />}</Loaded>
    </>
  );
}

function Body({ found: { event, payloadText } }: { found: EventWithText }) {
  const may = usePermission();
  const isRaw = useSearch({ from: '/events/$eventId' }).text === 'raw';
  return (
    <>
      <div className="head">
        <h1 className="mono">{event.type}</h1>
        <Identifier id={event.id} />
        <span className="grow" />
        <button
          type="button"
          className="btn"
          onClick={() => copyText(curlOfPath(`/v1/events/${event.id}`), 'the curl command')}
        >
          Copy as curl
        </button>
      </div>
      <div className="two section">
        <div className="stack">
          <dl className="facts">
            <dt>Recorded</dt>
            <dd>
              <ExactTime at={event.created_at} />
            </dd>
            <dt>Subject</dt>
            <dd>
              {event.subject.type}{' '}
              <Link to="/events" search={{ subject_id: event.subject.id }} className="link mono">
                {event.subject.id}
              </Link>
            </dd>
            <dt>Actor</dt>
            <dd>
              {event.actor.type}{' '}
              <Link to="/events" search={{ actor_id: event.actor.id }} className="link mono">
                {event.actor.id}
              </Link>
            </dd>
            <dt>Workspace</dt>
            <dd>{event.workspace_id ? <code>{event.workspace_id}</code> : 'whole organization'}</dd>
          </dl>
          {may.readWebhooks && <EventDeliveries event={event} />}
          <SubjectHistory event={event} />
        </div>
        <div className="stack">
          <CodeBlock
            title="Payload"
            text={payloadText}
            what="the payload"
            aside={<PrettySwitch label="Payload format" isRaw={isRaw} />}
          >
            <JsonText text={payloadText} isRaw={isRaw} />
          </CodeBlock>
        </div>
      </div>
    </>
  );
}
