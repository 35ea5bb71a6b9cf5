import { type JudgedWebhook, shownStatusOf, statuses } from '../api/webhook-verdict';
import { useZone } from '../browser/preferences';
import { formatMinute } from '../text/format';
import { t } from '../text/language';

/** Says what must happen to a webhook before it is sent events. */
export const beforeEvents = {
  active: '',
  paused: t`This webhook receives no events until it is resumed.`,
  unverified: t`This webhook receives no events until it is verified.`,
  disabled: t`This webhook receives no events until it is activated.`,
};

/** The state of a webhook. If it is short, what else there is to say follows it. */
export function WebhookTag({ webhook, isShort }: { webhook: JudgedWebhook; isShort?: boolean }) {
  const zone = useZone();
  const { waitsUntil: at } = webhook;
  const [className, text] = statuses[shownStatusOf(webhook)];
  return (
    <span className={`tag ${className}`}>
      {text}
      {at && !isShort && <time dateTime={at}>&nbsp;{t`until ${formatMinute(Date.parse(at), zone)}`}</time>}
    </span>
  );
}
