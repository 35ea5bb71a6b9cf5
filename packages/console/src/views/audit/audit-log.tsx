import type { AuditEntry } from '@posthorn/client';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useListRange } from '../../address/list-range';
import { useLive } from '../../address/live';
import { auditPagesQuery } from '../../api/audit';
import { problemIn } from '../../api/problem';
import { webhooksQuery } from '../../api/webhooks';
import { FilterBar } from '../../lists/filters';
import { More } from '../../lists/more';
import { ClearFilters } from '../../lists/no-match';
import { Empty } from '../../parts/empty';
import { Skeleton } from '../../parts/loaded';
import { ProblemNote } from '../../parts/problem-note';
import { Forbidden } from '../../session/forbidden';
import { usePermission, useToken } from '../../session/token';
import { shortId } from '../../text/identifier';
import { TimeAgo } from '../../text/time';
import { webhookName } from '../webhooks/webhook-tag';
import { ChainStatus } from './chain-status';

const names = {
  actor_id: 'actor',
  action: 'action',
  target_id: 'target',
  workspace_id: 'workspace',
} as const;
type Name = keyof typeof names;

/** Guesses which filter the text is for. */
function filterFor(text: string): Name {
  if (/^WS-/.test(text)) return 'workspace_id';
  if (/^(USR|AGT)-/.test(text)) return 'actor_id';
  if (/^[A-Z]+-/.test(text)) return 'target_id';
  return text.includes('.') ? 'action' : 'actor_id';
}

/** The audit log: who changed what, with the old and new values. */
export function AuditLog() {
  const may = usePermission();
  const token = useToken();
  if (!may.readAudit) return <Forbidden action="see the audit log" scopes={['audit:read']} />;
  return (
    <>
      <h1>Audit log</h1>
      <p className="lead">
        Every change adds an entry in the same transaction. Each entry has a hash that also covers the entry
        before it, so an alteration or removal can be detected.
        {!token.portal && (
          <>
            {' '}
            To check all entries, run <code>posthorn audit verify</code>.
          </>
        )}
      </p>
      {token.workspace_id === null && <ChainStatus />}
      <Entries />
    </>
  );
}

function Entries() {
  const search = useSearch({ from: '/audit' });
  const navigate = useNavigate({ from: '/audit' });
  const { refetchInterval } = useLive();
  const range = useListRange(search);
  const { actor_id, action, target_id, workspace_id } = search;
  const query = useInfiniteQuery({
    ...auditPagesQuery({ actor_id, action, target_id, workspace_id, ...range }),
    refetchInterval,
  });
  const may = usePermission();
  const { data: webhooks } = useQuery({ ...webhooksQuery, enabled: may.readWebhooks });
  const webhookNames = new Map(webhooks?.map((webhook) => [webhook.id, webhookName(webhook)]));
  const entries = query.data?.pages.flatMap(({ data }) => data) ?? [];
  const set = (part: Record<string, string | undefined>) =>
    void navigate({ search: (now) => ({ ...now, ...part }) as never, resetScroll: false });
  return (
    <>
      <FilterBar
        names={names}
        search={search}
        label="Add a filter: an action, an actor, a target or a workspace"
        placeholder="Action, USR-…, WHK-…, WS-…"
        onText={(text) => set({ [filterFor(text)]: text })}
        onSet={set}
      />
      {problemIn(query.error) && !query.isFetchNextPageError && (
        <ProblemNote error={query.error} onRetry={() => void query.refetch()} />
      )}
      {!query.data && !problemIn(query.error) && <Skeleton lines={10} />}
      {query.data && entries.length === 0 && (
        <Empty title="No matching entries" actions={<ClearFilters />}>
          <p>Entries are kept for 12 months.</p>
        </Empty>
      )}
      <div className={query.isPlaceholderData ? 'dimmed' : undefined}>
        {entries.map((entry) => (
          <Entry key={entry.id} entry={entry} targetName={webhookNames.get(entry.target.id)} />
        ))}
        {entries.length > 0 && <More count={entries.length} one="entry" many="entries" query={query} />}
      </div>
    </>
  );
}

function Entry({ entry, targetName }: { entry: AuditEntry; targetName: string | undefined }) {
  const changes = Object.entries(entry.changes);
  return (
    <article className="entry">
      <div className="line">
        <b className="mono">{entry.action}</b>
        <span>
          <Link to="/audit" search={{ actor_id: entry.actor.id }} className="mono" title={entry.actor.type}>
            {entry.actor.id}
          </Link>{' '}
          <span className="soft">on</span>{' '}
          {targetName !== undefined && <span className="strong">{targetName} </span>}
          <Link
            to="/audit"
            search={{ target_id: entry.target.id }}
            className={targetName === undefined ? 'mono' : 'mono soft'}
            title={`${entry.target.type} ${entry.target.id}: show its entries`}
          >
            {targetName === undefined ? entry.target.id : shortId(entry.target.id)}
          </Link>
        </span>
        <span className="grow" />
        <span className="soft small">
          {entry.source_address && `from ${entry.source_address} · `}
          <TimeAgo at={entry.created_at} />
        </span>
      </div>
      {changes.length > 0 && (
        <div className="change small">
          {changes.map(([field, { from, to }]) => (
            <div key={field}>
              <span className="soft">{field}</span> <Change from={from} to={to} target={entry.target} />
            </div>
          ))}
        </div>
      )}
    </article>
  );
}

const isNothing = (value: unknown) => value === null || value === undefined;

function Change({ from, to, target }: { from: unknown; to: unknown; target: AuditEntry['target'] }) {
  return (
    <code>
      {!isNothing(from) && <del>{JSON.stringify(from)}</del>}
      {!isNothing(from) && ' → '}
      <ins>{isNothing(to) ? isNothing(from) ? 'none' : 'removed' : <Value value={to} target={target} />}</ins>
    </code>
  );
}

/** A value. If it is the ID of an event, or of a delivery of the target, it leads there. */
function Value({ value, target }: { value: unknown; target: AuditEntry['target'] }) {
  const may = usePermission();
  const text = JSON.stringify(value);
  if (typeof value !== 'string') return text;
  if (/^EVT-[0-9A-Z]{26}$/.test(value) && may.readEvents) {
    return (
      <Link to="/events/$eventId" params={{ eventId: value }} className="link">
        {text}
      </Link>
    );
  }
  if (/^WDLV-[0-9A-Z]{26}$/.test(value) && target.id.startsWith('WHK-') && may.readWebhooks) {
    return (
      <Link
        to="/webhooks/$webhookId/deliveries/$deliveryId"
        params={{ webhookId: target.id, deliveryId: value }}
        className="link"
      >
        {text}
      </Link>
    );
  }
  return text;
}
