import type { Delivery } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useLive } from '../address/live';
import { useSetSearch } from '../address/search';
import { inWorkspace, useWorkspace, WorkspaceNote } from '../address/workspace';
import { webhookName } from '../api/webhook-name';
import { type JudgedWebhook, needsAttention, type ShownStatus, shownStatusOf } from '../api/webhook-verdict';
import { webhooksQuery } from '../api/webhooks';
import { WebhookDay } from '../charts/webhook-day';
import { rereadAfterMs } from '../deliveries/next-attempt';
import { FilterInput } from '../lists/filters';
import { type Column, Table } from '../lists/table';
import { Segmented } from '../parts/button';
import { WebhookLink } from '../parts/links';
import { Loaded } from '../parts/states';
import { usePermission } from '../session/token';
import { plural, rich, t } from '../text/language';
import { outcomeOf } from '../text/outcome';
import { ClockTime, TimeAgo } from '../text/time';
import { FirstWebhook } from './first-webhook';
import { WebhookTag } from './webhook-tag';

export function WebhookList() {
  const may = usePermission();
  const { refetchInterval } = useLive();
  const webhooks = useQuery({
    ...webhooksQuery,
    refetchInterval: ({ state }) =>
      refetchInterval ||
      rereadAfterMs(
        (state.data ?? []).map(({ waitsUntil }) => waitsUntil),
        Date.now(),
      ),
  });
  const { workspaceId } = useWorkspace();
  return (
    <>
      <div className="head short">
        <h1>{t`Webhooks`}</h1>
        <span className="grow" />
        {may.send && (webhooks.data?.length ?? 0) > 0 && (
          <Link to="/webhooks/new" className="btn primary">{t`New webhook`}</Link>
        )}
      </div>
      <WorkspaceNote />
      <Loaded query={webhooks} lines={10}>
        {(all) => (all.length === 0 ? <FirstWebhook /> : <List webhooks={inWorkspace(all, workspaceId)} />)}
      </Loaded>
    </>
  );
}

const columns: Column[] = [
  { name: t`Webhook` },
  { name: t`State`, className: 'wide', width: '140px' },
  { name: t`Event types`, className: 'wide roomy', width: '160px' },
  { name: t`Failures, 24 h`, className: 'wide', width: '118px' },
  { name: t`Success, 24 h`, className: 'r', width: '106px' },
  { name: t`p95, 24 h`, className: 'r wide roomy', width: '86px' },
  { name: t`Last delivery`, className: 'r wide', width: '116px' },
];

function List({ webhooks }: { webhooks: JudgedWebhook[] }) {
  const { q = '', show } = useSearch({ from: '/webhooks' });
  const set = useSetSearch();
  const attention = webhooks.filter(needsAttention).length;
  const shown = webhooks.filter(
    (webhook) =>
      (show !== 'attention' || needsAttention(webhook)) &&
      `${webhook.description ?? ''} ${webhook.url} ${webhook.id} ${webhook.event_types.join(' ')}`
        .toLowerCase()
        .includes(q.toLowerCase()),
  );
  return (
    <>
      <div className="filters">
        <FilterInput label={t`Filter webhooks`} placeholder={t`Filter by name, URL or type`} />
        <Segmented
          label={t`Which webhooks`}
          choices={[
            { key: 'all', label: t`All ${webhooks.length}` },
            { key: 'attention', label: t`Need attention ${attention}` },
          ]}
          value={show === 'attention' ? 'attention' : 'all'}
          onChange={(key) => set({ show: key === 'all' ? undefined : key })}
        />
      </div>
      {shown.length === 0 ? (
        <p className="soft">
          {webhooks.length === 0 ? t`No webhook belongs to this workspace.` : t`No matching webhooks.`}
        </p>
      ) : (
        <Table columns={columns}>
          {shown.map((webhook) => (
            <Row key={webhook.id} webhook={webhook} />
          ))}
        </Table>
      )}
    </>
  );
}

function Row({ webhook }: { webhook: JudgedWebhook }) {
  const name = webhookName(webhook);
  const { event_types: types } = webhook;
  const tag = <WebhookTag webhook={webhook} isShort />;
  const reason = reasonOf(webhook);
  return (
    <tr>
      <td>
        <WebhookLink className="row-link strong name" id={webhook.id} title={`${name}\n${webhook.url}`}>
          {name}
        </WebhookLink>
        <span className="second whole narrow">
          {tag}&ensp;{reason}
        </span>
        {webhook.description && (
          <span className="second mono">{webhook.url.replace(/^https?:\/\//, '')}</span>
        )}
        {webhook.workspace_id && <span className="second whole">{t`${webhook.workspace_id} only`}</span>}
      </td>
      <td className="wide">
        {tag}
        <span className="second whole">{reason}</span>
      </td>
      <td className="wide roomy soft" title={types.join(', ')}>
        {types.includes('*') ? (
          t`all types`
        ) : types.length === 1 ? (
          <code>{types[0]}</code>
        ) : (
          plural(types.length, '{0} type', '{0} types')
        )}
      </td>
      <WebhookDay webhookId={webhook.id} isInList />
      <td className="r wide soft">
        {webhook.last_delivery_at ? <TimeAgo at={webhook.last_delivery_at} /> : t`never`}
      </td>
    </tr>
  );
}

const disabledBecause = { gone: t`Status 410 (Gone)`, failing: t`Failed for 5 days`, manual: t`On request` };

const resultOf = (attempt: Pick<Delivery, 'http_status' | 'error'>) =>
  attempt.http_status === null ? outcomeOf(attempt) : t`Status ${attempt.http_status}`;

/** Returns why the webhook has its state, in a few words. Its page says more. */
function reasonOf(webhook: JudgedWebhook): ReactNode {
  if (webhook.waitsUntil) return rich`Until ${<ClockTime at={webhook.waitsUntil} />}`;
  const failure = webhook.verification_failure;
  const disabled = disabledBecause[webhook.disabled_reason ?? 'manual'];
  const reasons: Partial<Record<ShownStatus, string | undefined>> = {
    failing: webhook.latestFailure && resultOf(webhook.latestFailure),
    unverified: failure ? resultOf({ ...failure, error: failure.reason }) : t`Not tried yet`,
    disabled,
    disabled_manually: disabled,
  };
  return reasons[shownStatusOf(webhook)];
}
