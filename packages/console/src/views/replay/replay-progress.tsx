import type { Webhook } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { replayQuery } from '../../api/webhooks';
import { WebhookLink } from '../../parts/links';
import { Loaded } from '../../parts/states';
import { plural, rich, t } from '../../text/language';
import { TimeAgo } from '../../text/time';

/** The progress of a replay. The URL contains the ID of the replay, so a reload shows the same page. */
export function ReplayProgress({ webhook, replayId }: { webhook: Webhook; replayId: string }) {
  const replay = useQuery(replayQuery(webhook.id, replayId));
  return (
    <Loaded query={replay} lines={3}>
      {({ status, total, done, created_at }) => (
        <section className="form section">
          <div
            className={status === 'cancelled' ? 'note' : status === 'done' ? 'note ok' : 'note calm'}
            role="status"
          >
            <b>
              {
                {
                  running: t`${done} of ${total} events are queued.`,
                  done: plural(done, 'Done: {0} event is queued.', 'Done: {0} events are queued.'),
                  cancelled: t`Canceled after ${done} of ${total}: the webhook is not active.`,
                }[status]
              }
            </b>
            <p>
              {rich`Started ${<TimeAgo at={created_at} />}.`}{' '}
              {status === 'running' &&
                t`You can leave this page. The replay continues, and you can return to this URL to see its progress.`}
            </p>
          </div>
          <div
            className="progress"
            role="progressbar"
            aria-label={t`Replay`}
            aria-valuemin={0}
            aria-valuemax={total}
            aria-valuenow={done}
          >
            <i style={{ width: `${total === 0 ? 100 : (done / total) * 100}%` }} />
          </div>
          <div className="actions">
            <WebhookLink id={webhook.id} className="btn">{t`See the deliveries`}</WebhookLink>
            <Link
              to="/webhooks/$webhookId/replay"
              params={{ webhookId: webhook.id }}
              search={{}}
              className="btn"
            >{t`Another replay`}</Link>
          </div>
        </section>
      )}
    </Loaded>
  );
}
