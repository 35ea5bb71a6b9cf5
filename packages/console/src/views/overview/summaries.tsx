import type { Webhook } from '@posthorn/client';
import { Link } from '@tanstack/react-router';
import type { RangeSearch } from '../../address/range';
import { formatCount } from '../../text/format';
import { WebhookDay } from '../webhooks/webhook-day';
import { byUrgency, shownStatusOf, WebhookTag, webhookName } from '../webhooks/webhook-tag';

const shownMax = 8;

/** The most important webhooks: those with problems first, then those with the most recent deliveries. */
export function WebhookSummary({ webhooks }: { webhooks: Webhook[] }) {
  const sorted = webhooks.toSorted(
    (a, b) => byUrgency(a, b) || (b.last_delivery_at ?? '').localeCompare(a.last_delivery_at ?? ''),
  );
  return (
    <section>
      <h2>Webhooks</h2>
      {sorted.length === 0 && <p className="soft">No webhook belongs to this workspace.</p>}
      <table hidden={sorted.length === 0}>
        <thead>
          <tr>
            <th>Webhook</th>
            <th className="wide spark-col">Last 24 h</th>
            <th className="r rate-col">Success</th>
          </tr>
        </thead>
        <tbody>
          {sorted.slice(0, shownMax).map((webhook) => (
            <tr key={webhook.id}>
              <td>
                <div className="name-and-tag">
                  <Link
                    className="row-link strong"
                    to="/webhooks/$webhookId"
                    params={{ webhookId: webhook.id }}
                  >
                    {webhookName(webhook)}
                  </Link>
                  {shownStatusOf(webhook) !== 'active' && <WebhookTag webhook={webhook} />}
                </div>
              </td>
              <WebhookDay webhookId={webhook.id} isOneOfFew />
            </tr>
          ))}
        </tbody>
      </table>
      {sorted.length > shownMax && (
        <div className="more">
          <Link to="/webhooks" className="link">
            All {sorted.length} webhooks
          </Link>
        </div>
      )}
    </section>
  );
}

export function EventsByType({
  types,
  search,
}: {
  types: { type: string; count: number }[];
  search: RangeSearch;
}) {
  const most = Math.max(1, ...types.map(({ count }) => count));
  return (
    <section>
      <h2>Events by type</h2>
      {types.length === 0 ? (
        <p className="soft">No events in this range. New ones are counted within a minute.</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th>Type</th>
              <th className="wide share-col">
                <span className="hidden-visually">Share</span>
              </th>
              <th className="r count-col">Events</th>
            </tr>
          </thead>
          <tbody>
            {types.slice(0, shownMax).map(({ type, count }) => (
              <tr key={type}>
                <td>
                  <Link className="row-link mono" to="/events" search={{ type, ...search }}>
                    {type}
                  </Link>
                </td>
                <td className="wide">
                  <span className="meter" style={{ width: `${(count / most) * 100}%` }} />
                </td>
                <td className="r">{formatCount(count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
