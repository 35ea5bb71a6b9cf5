import type { Webhook } from '@posthorn/client';
import { useZone } from '../browser/preferences';
import { useNow } from '../text/clock';
import { formatRelative, formatSecond } from '../text/format';
import { t } from '../text/language';
import { formats } from '../webhook-editors/formats';
import { attemptsText, useWaitsMs } from '../webhook-form/waits';

const soonMs = 3 * 86_400_000;

/** What is special about a webhook, in a line. */
export function WebhookTraits({ webhook }: { webhook: Webhook }) {
  const { filter, format, retry_schedule: waits, expires_at: at } = webhook;
  const waitsMs = useWaitsMs(waits);
  const now = useNow(15_000);
  const shownZone = useZone();
  if (!filter && format === 'envelope' && !waits && !at) return null;
  const atMs = at ? Date.parse(at) : 0;
  return (
    <p className="lead traits">
      {filter && <span>{t`With a filter`}</span>}
      {format !== 'envelope' && <span>{t`Body: ${formats[format].name}`}</span>}
      {waits && <span>{attemptsText(waitsMs)}</span>}
      {at && (
        <span className={atMs - now < soonMs ? 'warn-text' : undefined} title={formatSecond(atMs, shownZone)}>
          {t`Deletes itself ${formatRelative(atMs, now)}`}
        </span>
      )}
    </p>
  );
}
