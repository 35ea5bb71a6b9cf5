import type { Delivery, Event } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useLive } from '../address/live';
import { eventDeliveriesQuery } from '../api/events';
import { webhookNames } from '../api/webhook-name';
import { webhooksQuery } from '../api/webhooks';
import { placesOf } from '../charts/wait-axis';
import { DeliveryTag, HeldNote } from '../deliveries/delivery-tag';
import { isAboutToChange, isHeld } from '../deliveries/next-attempt';
import { Button } from '../parts/button';
import { DeliveryLink, WebhookLink } from '../parts/links';
import { Loaded } from '../parts/states';
import { formatDuration, formatMs } from '../text/format';
import { shortId } from '../text/identifier';
import { plural, rich, t } from '../text/language';
import { outcomeOf } from '../text/outcome';
import { ClockTime, Countdown } from '../text/time';

/** Why a webhook did not get an event, in a few words. */
const reasons: Record<string, string> = {
  disabled: t`disabled`,
  unverified: t`not verified`,
  not_subscribed: t`other types`,
  filtered: t`filtered out`,
  other_workspace: t`other workspace`,
  created_later: t`created later`,
  about_itself: t`about itself`,
};

const missedMax = 5;

/** The way of an event: when it was recorded, then each webhook on one axis of time, then those that did not get it. */
export function EventWay({ event }: { event: Event }) {
  const { refetchInterval } = useLive();
  const [isWhole, setWhole] = useState(false);
  const deliveries = useQuery({
    ...eventDeliveriesQuery(event.id),
    refetchInterval: ({ state }) =>
      state.data?.data.some((one) => one.status === 'pending' && isAboutToChange(one, Date.now()))
        ? 1_500
        : refetchInterval,
  });
  const { data: webhooks } = useQuery({ ...webhooksQuery, refetchInterval });
  const names = webhookNames(webhooks ?? []);
  const nameOf = (id: string) => names.get(id) ?? id;
  return (
    <section>
      <h2>{t`Deliveries`}</h2>
      <Loaded query={deliveries} lines={3}>
        {({ data, hasMore, notDelivered = [] }) => (
          <>
            {data.length === 0 && notDelivered.length === 0 && (
              <p className="soft">{t`No active webhook was subscribed to this event when it was recorded. Webhooks that are unverified or disabled get no deliveries. Once one is active, you can replay the events that it missed.`}</p>
            )}
            <ul className="way">
              {data.map((delivery, index) => (
                <Stop
                  key={delivery.id}
                  delivery={delivery}
                  place={placesOf(data.map((one) => tookMs(event, one)))[index] ?? 0}
                  sinceMs={tookMs(event, delivery)}
                  name={webhooks && !names.has(delivery.webhook_id) ? undefined : nameOf(delivery.webhook_id)}
                />
              ))}
              {notDelivered
                .slice(0, isWhole ? undefined : missedMax)
                .map(({ webhook_id: id, reason, detail }) => (
                  <li key={id}>
                    <WebhookLink id={id} className="row-link name" title={nameOf(id)}>
                      {nameOf(id)}
                    </WebhookLink>
                    <span className="tag mute">{reasons[reason] ?? reason}</span>
                    <span className="second">{detail}</span>
                  </li>
                ))}
            </ul>
            {!isWhole && notDelivered.length > missedMax && (
              <Button kind="slim" onClick={() => setWhole(true)}>
                {plural(
                  notDelivered.length - missedMax,
                  'Show {0} more webhook that did not get it',
                  'Show {0} more webhooks that did not get it',
                )}
              </Button>
            )}
            {hasMore && (
              <p className="soft small">
                {rich`The newest ${data.length} are shown. ${<Link to="/deliveries" search={{ event_id: event.id }} className="link">{t`All deliveries of this event`}</Link>}`}
              </p>
            )}
          </>
        )}
      </Loaded>
    </section>
  );
}

/** Returns how long after its event a delivery had its latest attempt. */
function tookMs(
  event: Event,
  { last_attempt_at: last, delivered_at: delivered, duration_ms }: Delivery,
): number {
  const at = Date.parse(delivered ?? last ?? '');
  return Number.isNaN(at) ? 0 : Math.max(duration_ms ?? 0, at - Date.parse(event.created_at));
}

function Stop({
  delivery,
  place,
  sinceMs,
  name,
}: {
  delivery: Delivery;
  place: number;
  sinceMs: number;
  /** Undefined for a webhook that was deleted. */
  name: string | undefined;
}) {
  const isOpen = !delivery.final && delivery.attempts === 0;
  const tone = delivery.status === 'success' ? 'ok' : isOpen ? 'open' : delivery.final ? 'bad' : 'warn';
  return (
    <li>
      {name === undefined ? (
        <span className="name" title={delivery.webhook_id}>
          {rich`Deleted webhook ${<span className="mono soft">{shortId(delivery.webhook_id)}</span>}`}
        </span>
      ) : (
        <DeliveryLink className="row-link strong name" of={delivery} title={name}>
          {name}
        </DeliveryLink>
      )}
      <span className="track" title={t`${formatDuration(sinceMs)} after the event`}>
        <i className={tone} style={{ left: `${place * 100}%` }} />
      </span>
      <DeliveryTag delivery={delivery} />
      <span className="second">
        {(delivery.attempts > 0 || delivery.final) && outcomeOf(delivery)}
        {sinceMs > 0 && ` · ${t`after ${sinceMs < 60_000 ? formatMs(sinceMs) : formatDuration(sinceMs)}`}`}
        {delivery.delivered_at && (
          <>
            {' '}
            · <ClockTime at={delivery.delivered_at} />
          </>
        )}
        {!delivery.final && delivery.next_attempt_at && delivery.attempts > 0 && (
          <> · {rich`next ${<Countdown to={delivery.next_attempt_at} />}`}</>
        )}
        {isHeld(delivery) && <HeldNote webhookId={delivery.webhook_id} />}
      </span>
    </li>
  );
}
