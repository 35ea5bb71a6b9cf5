import type { Event } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { CSSProperties } from 'react';
import { useLive } from '../../address/live';
import { eventDeliveriesQuery } from '../../api/events';
import { webhooksQuery } from '../../api/webhooks';
import { DeliveryLink } from '../../parts/links';
import { Loaded } from '../../parts/states';
import { shortId } from '../../text/identifier';
import { Countdown } from '../../text/time';
import { DeliveryTag, HeldNote, outcomeOf } from '../deliveries/delivery-tag';
import { isAboutToChange, isHeld } from '../deliveries/next-attempt';
import { webhookNames } from '../webhooks/webhook-names';

/** Where the event went: its deliveries to every webhook. */
export function EventDeliveries({ event }: { event: Event }) {
  const { refetchInterval } = useLive();
  const deliveries = useQuery({
    ...eventDeliveriesQuery(event.id),
    refetchInterval: ({ state }) =>
      state.data?.data.some((one) => one.status === 'pending' && isAboutToChange(one, Date.now()))
        ? 1_500
        : refetchInterval,
  });
  const { data: webhooks } = useQuery({ ...webhooksQuery, refetchInterval });
  const names = webhookNames(webhooks ?? []);
  return (
    <section>
      <h2>Deliveries</h2>
      <Loaded query={deliveries} lines={3}>
        {({ data, hasMore }) =>
          data.length === 0 ? (
            <p className="soft">
              No active webhook was subscribed to this event when it was recorded. Webhooks that are
              unverified or disabled get no deliveries. Once one is active, you can replay the events that it
              missed.
            </p>
          ) : (
            <table>
              {/* A hidden head leaves an empty first row, so the cells cannot set the widths. */}
              <colgroup>
                <col />
                <col style={{ '--width': '114px', '--width-on-phone': '96px' } as CSSProperties} />
                <col className="next-col" />
              </colgroup>
              <thead className="hidden-visually">
                <tr>
                  <th>Webhook</th>
                  <th>State</th>
                  <th>Response</th>
                </tr>
              </thead>
              <tbody>
                {data.map((delivery) => (
                  <tr key={delivery.id}>
                    <td>
                      {webhooks && !names.has(delivery.webhook_id) ? (
                        <>
                          Deleted webhook
                          <span className="second mono" title={delivery.webhook_id}>
                            {shortId(delivery.webhook_id)}
                          </span>
                        </>
                      ) : (
                        <DeliveryLink className="row-link strong" of={delivery}>
                          {names.get(delivery.webhook_id) ?? delivery.webhook_id}
                        </DeliveryLink>
                      )}
                    </td>
                    <td>
                      <DeliveryTag delivery={delivery} />
                    </td>
                    <td className="r soft next-col">
                      {(delivery.attempts > 0 || delivery.final) && outcomeOf(delivery)}
                      {!delivery.final && delivery.next_attempt_at && delivery.attempts > 0 && (
                        <span className="second nowrap">
                          next <Countdown to={delivery.next_attempt_at} />
                        </span>
                      )}
                      {isHeld(delivery) && <HeldNote webhookId={delivery.webhook_id} />}
                    </td>
                  </tr>
                ))}
              </tbody>
              {hasMore && (
                <tfoot>
                  <tr>
                    <td colSpan={3} className="soft">
                      The newest {data.length} are shown.{' '}
                      <Link to="/deliveries" search={{ event_id: event.id }} className="link">
                        All deliveries of this event
                      </Link>
                    </td>
                  </tr>
                </tfoot>
              )}
            </table>
          )
        }
      </Loaded>
    </section>
  );
}
