import type { EventType } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { eventTypesQuery } from '../../api/events';
import { webhooksQuery } from '../../api/webhooks';
import { CodeBlock } from '../../parts/code-block';
import { FilterInput } from '../../parts/filter-input';
import { Forbidden } from '../../parts/forbidden';
import { JsonText } from '../../parts/json-text';
import { Loaded } from '../../parts/loaded';
import { TypeName } from '../../parts/type-name';
import { webhookName } from '../../parts/webhook-tag';
import { WithCode } from '../../parts/with-code';
import { usePermission } from '../../permission';
import { SchemaTable } from './schema-table';

export function EventTypes() {
  const may = usePermission();
  const types = useQuery({ ...eventTypesQuery, enabled: may.readEvents });
  if (!may.readEvents) return <Forbidden action="see event types" scopes={['events:read']} />;
  return (
    <>
      <h1>Event types</h1>
      <Loaded query={types} lines={12}>
        {(all) => <Catalogue types={all} />}
      </Loaded>
    </>
  );
}

function Catalogue({ types }: { types: EventType[] }) {
  const { q = '', type } = useSearch({ from: '/event-types' });
  const found = types.filter((one) =>
    `${one.type} ${one.description}`.toLowerCase().includes(q.toLowerCase()),
  );
  const domains = Map.groupBy(found, (one) => one.type.slice(0, one.type.indexOf('.')));
  const shown = types.find((one) => one.type === type);
  return (
    <>
      <div className="filters">
        <FilterInput label="Filter event types" placeholder="Filter by name or description" value={q} />
      </div>
      <div className={shown ? 'tree with-one' : 'tree'}>
        <nav aria-label="Event types">
          {[...domains].map(([domain, of]) => (
            <div key={domain}>
              <h2>{domain}</h2>
              {of.map((one) => (
                <Link
                  key={one.type}
                  to="/event-types"
                  search={(now) => ({ ...now, type: one.type })}
                  activeOptions={{ exact: true }}
                  aria-current={one.type === type ? 'page' : undefined}
                  className="mono"
                  resetScroll={false}
                >
                  <TypeName type={one.type} />
                </Link>
              ))}
            </div>
          ))}
          {found.length === 0 && <p className="soft">No matching event types.</p>}
        </nav>
        {shown ? (
          <TypeDetail type={shown} />
        ) : (
          <p className={type ? 'soft' : 'soft wide'}>
            {type && (
              <>
                There is no event type <code>{type}</code>.{' '}
              </>
            )}
            Choose a type to see its description, its fields and a sample.
          </p>
        )}
      </div>
    </>
  );
}

function TypeDetail({ type }: { type: EventType }) {
  const may = usePermission();
  const text = JSON.stringify(type.sample);
  return (
    <article className="stack">
      <Link
        to="/event-types"
        search={(now) => ({ ...now, type: undefined }) as never}
        className="link back-to-types"
      >
        All event types
      </Link>
      <div className="head">
        <h2 className="mono type-name">
          <TypeName type={type.type} />
        </h2>
        <span className="grow" />
        <Link to="/events" search={{ type: type.type }} className="btn slim">
          See events
        </Link>
        {may.send && (
          <Link to="/webhooks/new" search={{ event_type: type.type }} className="btn slim">
            New webhook
          </Link>
        )}
      </div>
      <p>
        <WithCode text={type.description} />
      </p>
      <SchemaTable schema={type.schema} />
      <CodeBlock title="Sample payload" text={text} what="the sample">
        <JsonText text={text} />
      </CodeBlock>
      {may.send && <SendAsTest type={type.type} />}
    </article>
  );
}

function SendAsTest({ type }: { type: string }) {
  const { data: webhooks } = useQuery(webhooksQuery);
  const navigate = useNavigate();
  if (!webhooks || webhooks.length === 0) return null;
  return (
    <label className="filters">
      <span className="soft">Send as a test to</span>
      <select
        className="filter-select"
        value=""
        onChange={(event) =>
          void navigate({
            to: '/webhooks/$webhookId',
            params: { webhookId: event.target.value },
            search: { tab: 'test', test: type },
          })
        }
      >
        <option value="">choose a webhook…</option>
        {webhooks.map((webhook) => (
          <option key={webhook.id} value={webhook.id}>
            {webhookName(webhook)}
          </option>
        ))}
      </select>
    </label>
  );
}
