import type { AuditChain, AuditEntry, ListAuditLogsQuery } from '@posthorn/client';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useListRange } from '../address/list-range';
import { useLive } from '../address/live';
import { posthorn } from '../api/client';
import { pagesOf } from '../api/query-client';
import { webhookName } from '../api/webhook-name';
import { webhooksQuery } from '../api/webhooks';
import { useZone } from '../browser/preferences';
import { FilterBar } from '../lists/filters';
import { Listed } from '../lists/more';
import { ClearFilters } from '../lists/no-match';
import { CopyButton } from '../parts/copy';
import { Facts } from '../parts/facts';
import { Icon } from '../parts/icon';
import { DeliveryLink, EventLink } from '../parts/links';
import { Note } from '../parts/note';
import { Empty, Loaded } from '../parts/states';
import { usePermission, useToken } from '../session/token';
import { formatCount, formatDate } from '../text/format';
import { shortId } from '../text/identifier';
import { plural, rich, t } from '../text/language';
import { ClockTime, ExactTime, TimeAgo } from '../text/time';

const names = {
  actor_id: t`actor`,
  action: t`action`,
  target_id: t`target`,
  workspace_id: t`workspace`,
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
  const token = useToken();
  return (
    <>
      <h1>{t`Audit log`}</h1>
      <p className="lead">
        {t`Every change adds an entry in the same transaction. Each entry has a hash that also covers the entry before it, so an alteration or removal can be detected.`}
        {!token.portal && <> {rich`To check all entries, run ${<code>posthorn audit verify</code>}.`}</>}
      </p>
      {token.workspace_id === null && <ChainStatus />}
      <Entries />
    </>
  );
}

function Entries() {
  const search = useSearch({ from: '/audit' });
  const { refetchInterval } = useLive();
  const range = useListRange(search);
  const { actor_id, action, target_id, workspace_id } = search;
  const filter: ListAuditLogsQuery = { actor_id, action, target_id, workspace_id, ...range };
  const query = useInfiniteQuery({
    queryKey: ['audit', filter],
    ...pagesOf((cursor, signal) =>
      posthorn.auditLogs.list({ ...filter, limit: 50, cursor }, { signal }).first(),
    ),
    refetchInterval,
  });
  const may = usePermission();
  const { data: webhooks } = useQuery({ ...webhooksQuery, enabled: may.readWebhooks });
  const webhookNames = new Map(webhooks?.map((webhook) => [webhook.id, webhookName(webhook)]));
  const shownZone = useZone();
  const entries = query.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <>
      <FilterBar
        names={names}
        search={search}
        label={t`Add a filter: an action, an actor, a target or a workspace`}
        placeholder={t`Action, USR-…, WHK-…, WS-…`}
        filterFor={filterFor}
      />
      <Listed
        query={query}
        count={entries.length}
        all={plural(entries.length, '{0} entry', 'All {0} entries')}
        empty={
          <Empty title={t`No matching entries`} actions={<ClearFilters />}>
            <p>{t`Entries are kept for 12 months.`}</p>
          </Empty>
        }
      >
        {[...Map.groupBy(entries, ({ created_at: at }) => formatDate(Date.parse(at), shownZone))].map(
          ([day, ofDay]) => (
            <section key={day}>
              <h2 className="day soft small">{day}</h2>
              {ofDay.map((entry) => (
                <Entry key={entry.id} entry={entry} targetName={webhookNames.get(entry.target.id)} />
              ))}
            </section>
          ),
        )}
      </Listed>
    </>
  );
}

/** What was done, as a sentence such as `USR-ada created billing`. */
const sentences: Record<string, (who: ReactNode, what: ReactNode) => ReactNode> = {
  created: (who, what) => rich`${who} created ${what}`,
  updated: (who, what) => rich`${who} changed ${what}`,
  deleted: (who, what) => rich`${who} deleted ${what}`,
  verified: (who, what) => rich`${who} verified ${what}`,
  tested: (who, what) => rich`${who} sent a test to ${what}`,
  redelivered: (who, what) => rich`${who} redelivered an event to ${what}`,
  replayed: (who, what) => rich`${who} started a replay to ${what}`,
  secret_rotated: (who, what) => rich`${who} rotated the secret of ${what}`,
  revoked: (who, what) => rich`${who} revoked ${what}`,
};

/** An entry as a sentence. Its fields are behind it; those of a change are listed in it. */
function Entry({ entry, targetName }: { entry: AuditEntry; targetName: string | undefined }) {
  const { actor, target, action, created_at: at, source_address: source } = entry;
  const changes = Object.entries(entry.changes);
  const verb = action.slice(action.lastIndexOf('.') + 1);
  const sentence =
    sentences[verb] ??
    ((who: ReactNode, what: ReactNode) => rich`${who} did ${<code>{action}</code>} to ${what}`);
  const changed = changes
    .filter(([, { from, to }]) => !isNothing(from) && !isNothing(to))
    .map(([field]) => field);
  return (
    <details className="entry">
      <summary>
        <span className="soft">
          <ClockTime at={at} />
        </span>
        <span>
          {sentence(
            <b>{shortId(actor.id)}</b>,
            <span className={targetName === undefined ? 'mono' : 'strong'}>
              {targetName ?? shortId(target.id)}
            </span>,
          )}
          {verb === 'updated' && changed.length > 0 && <span className="soft">: {changed.join(', ')}</span>}
        </span>
        <code className="soft wide">{action}</code>
        <Icon name="expand" />
      </summary>
      <div className="change small">
        <Facts
          of={[
            ...changes.map(([field, { from, to }]) => ({
              name: <code>{field}</code>,
              is: <Change from={from} to={to} target={target} />,
            })),
            { name: t`recorded`, is: [<ExactTime key="at" at={at} />, source && ` ${t`from ${source}`}`] },
            { name: t`entry`, is: <code>{entry.id}</code> },
            {
              name: t`more of`,
              is: rich`${moreOf({ actor_id: actor.id })} ${moreOf({ target_id: target.id })}`,
            },
          ]}
        />
      </div>
    </details>
  );
}

const moreOf = (filter: { actor_id: string } | { target_id: string }) => (
  <Link to="/audit" search={filter} className="link mono">
    {Object.values(filter)}
  </Link>
);

const isNothing = (value: unknown) => value === null || value === undefined;

function Change({ from, to, target }: { from: unknown; to: unknown; target: AuditEntry['target'] }) {
  return (
    <code>
      {!isNothing(from) && <del>{JSON.stringify(from)}</del>}
      {!isNothing(from) && ' → '}
      <ins>
        {isNothing(to) ? isNothing(from) ? t`none` : t`removed` : <Value value={to} target={target} />}
      </ins>
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
      <EventLink id={value} className="link">
        {text}
      </EventLink>
    );
  }
  if (/^WDLV-[0-9A-Z]{26}$/.test(value) && target.id.startsWith('WHK-') && may.readWebhooks) {
    return (
      <DeliveryLink of={{ webhook_id: target.id, id: value }} className="link">
        {text}
      </DeliveryLink>
    );
  }
  return text;
}

function checkedText({ checked, entries }: AuditChain): string {
  if (checked < entries) {
    return t`The newest ${formatCount(checked)} of ${formatCount(entries)} entries are unaltered.`;
  }
  return entries === 1
    ? t`The only entry is unaltered.`
    : t`All ${formatCount(entries)} entries are unaltered.`;
}

const faults = {
  altered: t`An entry was altered.`,
  missing: t`An entry was removed.`,
  added: t`An entry was added.`,
  unknown_end: t`The record of where the chain ends was removed.`,
};

/** Whether the chain of the audit log is intact. Only for tokens of the whole organization. */
function ChainStatus() {
  const { refetchInterval } = useLive();
  const query = useQuery({
    queryKey: ['audit-chain'],
    queryFn: ({ signal }) => posthorn.auditLogs.chain({ signal }),
    staleTime: 30_000,
    refetchInterval,
  });
  return (
    <Loaded query={query} lines={1}>
      {(chain) => {
        const { fault, head, checked_at: at } = chain;
        if (!fault && chain.entries === 0) return null;
        if (!fault)
          return (
            <p className="chain" role="status">
              <span className="tag ok">{t`Chain intact`}</span>
              <span>{checkedText(chain)}</span>
              <span className="soft">
                {rich`Last hash ${<code title={head}>{head.slice(0, 12)}…</code>} ${<CopyButton text={head} what={t`the last hash`} />} · checked ${<TimeAgo at={at} />}`}
              </span>
            </p>
          );
        return (
          <Note role="alert" title={t`The chain is broken. ${faults[fault.kind]}`}>
            <p>
              {t`Position ${formatCount(fault.position)}`}
              {fault.id && (
                <>
                  , <code>{fault.id}</code>
                </>
              )}
              . {rich`Compare the log with a backup. Checked ${<TimeAgo at={at} />}.`}
            </p>
          </Note>
        );
      }}
    </Loaded>
  );
}
