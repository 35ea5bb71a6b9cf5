import type { TypeCount, Webhook } from '@posthorn/client';
import { Link } from '@tanstack/react-router';
import { periodOf, type RangeSearch } from '../address/range';
import { webhookName } from '../api/webhook-name';
import { shownStatusOf } from '../api/webhook-verdict';
import { WebhookDay } from '../charts/webhook-day';
import { type Column, Table } from '../lists/table';
import { WebhookLink } from '../parts/links';
import { formatCount } from '../text/format';
import { t } from '../text/language';
import { WebhookTag } from '../webhooks/webhook-tag';

const shownMax = 8;

const webhookColumns: Column[] = [
  { name: t`Webhook` },
  { name: t`Failures, 24 h`, className: 'wide', width: '118px' },
  { name: t`Success, 24 h`, className: 'r', width: '106px' },
];

const typeColumns: Column[] = [
  { name: t`Type` },
  { name: <span className="hidden-visually">{t`Share`}</span>, className: 'wide', width: '24%' },
  { name: t`Events`, className: 'r', width: '96px' },
];

/** The first webhooks, of which those with problems come first. */
export function WebhookSummary({ webhooks }: { webhooks: Webhook[] }) {
  return (
    <section>
      <h2>{t`Webhooks`}</h2>
      {webhooks.length === 0 ? (
        <p className="soft">{t`No webhook belongs to this workspace.`}</p>
      ) : (
        <Table columns={webhookColumns}>
          {webhooks.slice(0, shownMax).map((webhook) => (
            <tr key={webhook.id}>
              <td>
                <div className="name-and-tag">
                  <WebhookLink className="row-link strong name" id={webhook.id} title={webhookName(webhook)}>
                    {webhookName(webhook)}
                  </WebhookLink>
                  {shownStatusOf(webhook) !== 'active' && <WebhookTag webhook={webhook} />}
                </div>
              </td>
              <WebhookDay webhookId={webhook.id} />
            </tr>
          ))}
        </Table>
      )}
      {webhooks.length > shownMax && (
        <div className="more soft small">
          <Link to="/webhooks" className="link">{t`All ${webhooks.length} webhooks`}</Link>
        </div>
      )}
    </section>
  );
}

export function EventsByType({ types, search }: { types: TypeCount[]; search: RangeSearch }) {
  const most = Math.max(1, ...types.map(({ count }) => count));
  return (
    <section>
      <h2>
        {t`Events by type`} <span className="soft small">{periodOf(search)}</span>
      </h2>
      {types.length === 0 ? (
        <p className="soft">{t`No events in this range. New ones are counted within a minute.`}</p>
      ) : (
        <Table columns={typeColumns}>
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
        </Table>
      )}
    </section>
  );
}
