import type { Webhook } from '@posthorn/client';
import { WholeOrganization } from '../address/workspace';
import type { DeliveryFilter } from '../api/deliveries';
import { RecordCommand } from '../events/no-events';
import { MoreButton, MoreError, type Pages } from '../lists/more';
import { NoMatch } from '../lists/no-match';
import { WebhookLink } from '../parts/links';
import { Empty } from '../parts/states';
import { useToken } from '../session/token';
import { rich, t } from '../text/language';
import { ClockTime } from '../text/time';
import { FirstWebhook } from '../webhooks/first-webhook';
import { beforeEvents } from '../webhooks/webhook-tag';

/** Says how far back the search went without a match, if it stopped before the end of the list. */
export function NoneSoFar({ searchedTo, query }: { searchedTo: string | undefined; query: Pages }) {
  return (
    <Empty title={t`No match so far`} actions={<MoreButton query={query} isSearch />}>
      <p role="status">
        {searchedTo && <>{rich`Searched back to ${<ClockTime at={searchedTo} />} without a match.`} </>}
        {t`There are many deliveries, so the search runs in steps. To make it faster, choose a time range or a webhook.`}
      </p>
      <MoreError query={query} />
    </Empty>
  );
}

/** That nothing failed is good news, not a search without a result. */
const noneOf: Partial<Record<string, string>> = {
  given_up: t`Nothing was given up`,
  retrying: t`Nothing is waiting to be retried`,
};

/** Says why no delivery is listed, and what to do. */
export function NoDeliveries({
  filter: { state, event_type, workspace_id },
  isFiltered,
  webhook,
  webhooks,
}: {
  filter: DeliveryFilter;
  isFiltered: boolean;
  webhook: Webhook | undefined;
  webhooks: Webhook[] | undefined;
}) {
  const token = useToken();
  if (isFiltered) {
    return (
      <NoMatch
        title={(state && noneOf[state]) || t`No matching deliveries`}
        type={event_type}
        workspaceId={workspace_id}
      />
    );
  }
  if (webhooks?.length === 0) return <FirstWebhook />;
  if (workspace_id) {
    return (
      <Empty
        title={t`No deliveries to webhooks of ${workspace_id}`}
        actions={<WholeOrganization className="btn" />}
      >
        <p>{t`Deliveries to organization-wide webhooks are not listed while a workspace is selected.`}</p>
      </Empty>
    );
  }
  return (
    <Empty
      title={t`No deliveries yet`}
      actions={
        webhook && <WebhookLink id={webhook.id} tab="test" className="btn">{t`Send a test`}</WebhookLink>
      }
    >
      <p>
        {webhook && webhook.status !== 'active'
          ? beforeEvents[webhook.status]
          : t`A delivery appears here after its first attempt.`}{' '}
        {webhook
          ? t`Deliveries are created for new events that the webhook subscribes to.`
          : t`Deliveries are created for new events that an active webhook subscribes to.`}
      </p>
      {!webhook && !token.portal && <RecordCommand />}
    </Empty>
  );
}
