import { Link } from '@tanstack/react-router';
import { Fragment } from 'react';
import type { JudgedWebhook } from '../../api/webhooks';
import { plural } from '../../format';
import { ClockTime } from '../../parts/time';
import { shownStatusOf, webhookName } from '../../parts/webhook-tag';

const shownMax = 3;

/** The webhooks whose receivers asked to wait. There is nothing to do about them, so they are not among the problems. */
export function Waiting({ webhooks }: { webhooks: JudgedWebhook[] }) {
  const waiting = webhooks.filter((webhook) => shownStatusOf(webhook) === 'waiting');
  if (waiting.length === 0) return null;
  const shown = waiting.slice(0, shownMax);
  const rest = waiting.length - shown.length;
  return (
    <p className="lead">
      {`Waiting, because ${waiting.length === 1 ? 'its receiver' : 'their receivers'} asked for it: `}
      {shown.map((webhook, index) => (
        <Fragment key={webhook.id}>
          {index > 0 && ', '}
          <Link to="/webhooks/$webhookId" params={{ webhookId: webhook.id }} className="link">
            {webhookName(webhook)}
          </Link>{' '}
          until <ClockTime at={webhook.waitsUntil ?? ''} />
        </Fragment>
      ))}
      {rest > 0 && (
        <>
          {' '}
          and{' '}
          <Link to="/webhooks" className="link">
            {plural(rest, 'other')}
          </Link>
        </>
      )}
      .
    </p>
  );
}
