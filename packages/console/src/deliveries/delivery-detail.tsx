import type { Attempt, DeliveryDetail as Detail, SentRequest, Webhook } from '@posthorn/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Navigate, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useLive } from '../address/live';
import { type Search, useSetSearch } from '../address/search';
import { useAction, useRequestKey } from '../api/action';
import { posthorn } from '../api/client';
import { deliveryQuery, findDelivery } from '../api/deliveries';
import { isOutcomeUnknown } from '../api/problem';
import { webhookName } from '../api/webhook-name';
import { webhookQuery } from '../api/webhooks';
import { curlOfRequest, triggerCommands } from '../code/curl';
import { PrettySwitch } from '../code/json-text';
import { RequestBox, ResponseBox } from '../code/wire';
import { Button } from '../parts/button';
import { CopyLine, copyText } from '../parts/copy';
import { Breadcrumb, Identifier } from '../parts/head';
import { EventLink, WebhookLink } from '../parts/links';
import { Loaded, ProblemNote } from '../parts/states';
import { showToast } from '../parts/toast';
import { usePermission } from '../session/token';
import { useShownItem } from '../shell/views';
import { t } from '../text/language';
import { AttemptStrip } from './attempt-strip';
import { deliveryMarkdown } from './delivery-markdown';
import { DeliveryTag } from './delivery-tag';
import { Diagnosis, LaterDelivery } from './diagnosis';
import { isAboutToChange } from './next-attempt';

export function DeliveryDetail() {
  const { webhookId, deliveryId } = useParams({ from: '/webhooks/$webhookId/deliveries/$deliveryId' });
  return <DeliveryView webhookId={webhookId} deliveryId={deliveryId} />;
}

/** A delivery, on a page of its own or beside its list. */
export function DeliveryView({ webhookId, deliveryId }: { webhookId: string; deliveryId: string }) {
  const { refetchInterval } = useLive();
  const delivery = useQuery({
    ...deliveryQuery(webhookId, deliveryId),
    refetchInterval: ({ state }) =>
      state.data && isAboutToChange(state.data, Date.now()) ? 1_000 : refetchInterval,
  });
  const { data: webhook } = useQuery(webhookQuery(webhookId));
  useShownItem(delivery.data?.event_type);
  return (
    <>
      <Breadcrumb>
        <Link to="/deliveries">{t`Deliveries`}</Link>
        <WebhookLink id={webhookId}>{webhook ? webhookName(webhook) : webhookId}</WebhookLink>
      </Breadcrumb>
      <Loaded query={delivery}>{(data) => <Body key={data.id} delivery={data} webhook={webhook} />}</Loaded>
    </>
  );
}

function Body({ delivery, webhook }: { delivery: Detail; webhook: Webhook | undefined }) {
  const webhookId = delivery.webhook_id;
  const may = usePermission();
  const search = useSearch({ strict: false });
  const navigate = useNavigate();
  const set = useSetSearch({ replace: true });
  const again = useRedelivery(webhookId);
  // As soon as the page shows the effect of a request, it no longer matters that its response was lost.
  const hasChanged =
    again.variables?.attempts !== delivery.attempts || again.variables.final !== delivery.final;
  const error = again.error && isOutcomeUnknown(again.error) && hasChanged ? null : again.error;
  const chosen =
    delivery.attempt_log.find(({ attempt }) => String(attempt) === search.attempt) ??
    delivery.attempt_log.at(-1);
  const { request } = delivery;
  const canRedeliver = may.send && webhook?.status === 'active' && delivery.status !== 'pending';
  const redeliver = () =>
    again.mutate(delivery, {
      onSuccess: ({ id }) => {
        const isSame = id === delivery.id;
        if (search.open) return set({ open: `${webhookId}/${id}`, attempt: undefined });
        void navigate({
          to: '/webhooks/$webhookId/deliveries/$deliveryId',
          params: { webhookId, deliveryId: id },
          // Without a chosen attempt, the page shows the newest one as soon as it is made.
          search: (now: Search) => ({ ...now, attempt: undefined }),
          replace: isSame,
          resetScroll: !isSame,
        });
      },
    });
  return (
    <>
      <div className="head">
        <h1 className="mono">{delivery.event_type}</h1>
        <DeliveryTag delivery={delivery} />
        <Identifier id={delivery.id} />
        <span className="grow" />
        <Button
          onClick={() => copyText(deliveryMarkdown(delivery, webhook), t`the delivery as Markdown`)}
        >{t`Copy as Markdown`}</Button>
        {request?.url && (
          <Button
            onClick={() => copyText(curlOfRequest(request), t`the curl command, which has no signature`)}
          >{t`Copy as curl`}</Button>
        )}
        {canRedeliver && (
          <Button kind="primary" data-key="r" disabled={again.isPending} onClick={redeliver}>
            {again.isPending ? t`Sending…` : t`Redeliver now`}
          </Button>
        )}
      </div>
      {error && <ProblemNote error={error} isAction />}
      <LaterDelivery delivery={delivery} />
      <Diagnosis delivery={delivery} webhook={webhook} />
      {(delivery.attempt_log.length > 0 || !delivery.final || delivery.error === 'disabled') && (
        <AttemptStrip
          delivery={delivery}
          webhook={webhook}
          chosen={chosen}
          onChoose={(attempt) => set({ attempt: String(attempt) })}
        />
      )}
      <div className="section-head section">
        <h2>{t`Request and response`}</h2>
        <span className="grow" />
        {may.readEvents && (
          <EventLink
            id={delivery.event_id}
            className="link"
          >{t`The event and its other deliveries`}</EventLink>
        )}
        <PrettySwitch label={t`Body format`} />
      </div>
      <div className={chosen ? 'two' : undefined}>
        {request && (
          <RequestBox
            title={
              chosen
                ? t`Request of attempt ${chosen.attempt}`
                : delivery.final
                  ? t`Request (not sent)`
                  : t`First request`
            }
            request={chosen ? requestOf(request, chosen) : request}
          />
        )}
        {chosen && <ResponseBox title={t`Response to attempt ${chosen.attempt}`} of={chosen} />}
      </div>
      {request?.url && (
        <details className="section">
          <summary>{t`Send this again with a signature`}</summary>
          <div className="stack">
            <p className="soft">{t`The console does not have the secret. The command line signs the event with the one that you give it:`}</p>
            {triggerCommands(delivery.event_id, request.url).map((command) => (
              <CopyLine key={command} text={command} what={t`the command`} />
            ))}
          </div>
        </details>
      )}
    </>
  );
}

/** Returns the request of an attempt. Only two headers differ from those of the latest one. */
function requestOf(latest: SentRequest, { attempt, attempted_at: at }: Attempt): SentRequest {
  const own: Record<string, string> = {
    'webhook-timestamp': String(Math.floor(Date.parse(at) / 1_000)),
    'x-service-attempt': String(attempt),
  };
  const headers = Object.entries(latest.headers).map(([name, value]) => [
    name,
    own[name.toLowerCase()] ?? value,
  ]);
  return { ...latest, headers: Object.fromEntries(headers) };
}

/** Sends the event again. If a retry is waiting, it is attempted now. Otherwise, a new delivery is created. */
function useRedelivery(webhookId: string) {
  const client = useQueryClient();
  const keyOf = useRequestKey();
  return useAction({
    mutationFn: ({ id, attempts, final }: Detail) =>
      // Once the page shows the effect of a request, the next request gets a new key, even if the response was lost.
      posthorn.deliveries.redeliver(webhookId, id, { idempotencyKey: keyOf({ id, attempts, final }) }),
    onSuccess: (queued, { id }) => {
      showToast(
        queued.id === id ? t`An extra attempt is being made now.` : t`Redelivered as a new delivery.`,
      );
      void client.invalidateQueries({ queryKey: ['deliveries'] });
    },
  });
}

/** Redirects from a delivery's ID, without its webhook, to its page. */
export function FoundDelivery() {
  const { deliveryId } = useParams({ from: '/deliveries/$deliveryId' });
  const query = useQuery({
    queryKey: ['deliveries', 'find', deliveryId],
    queryFn: ({ signal }) => findDelivery(deliveryId, signal),
  });
  return (
    <Loaded query={query}>
      {({ webhook_id, id }) => (
        <Navigate
          to="/webhooks/$webhookId/deliveries/$deliveryId"
          params={{ webhookId: webhook_id, deliveryId: id }}
          replace
        />
      )}
    </Loaded>
  );
}
