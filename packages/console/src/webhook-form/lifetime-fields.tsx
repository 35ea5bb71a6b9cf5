import { useZone } from '../browser/preferences';
import { Button } from '../parts/button';
import { Field, Remark } from '../parts/form';
import { TimeField } from '../parts/time-field';
import { useNow } from '../text/clock';
import { formatRelative, formatSecond } from '../text/format';
import { t } from '../text/language';
import type { FieldFaults } from './field-faults';
import { scheduleText, useWaitsMs, waitsFaultOf, waitsIn } from './waits';
import type { WebhookDraft } from './webhook-fields';

/** How long a webhook tries to deliver an event, and how long there is a webhook. */
export function LifetimeFields({
  draft,
  faults,
  onChange,
}: {
  draft: WebhookDraft;
  faults: FieldFaults;
  onChange: (part: Partial<WebhookDraft>) => void;
}) {
  const waits = waitsIn(draft.retry_schedule);
  const waitsMs = useWaitsMs(waits);
  return (
    <>
      <Field
        label={t`Waits between attempts`}
        hint={
          <>
            <b>{scheduleText(waitsMs)}.</b>{' '}
            {!waits && t`To use waits of its own, enter them, such as 30s, 10m, 6h.`}
          </>
        }
        fault={(waits && waitsFaultOf(waits)) ?? faults.of('retry_schedule')}
        placeholder={t`as the service does`}
        autoComplete="off"
        value={draft.retry_schedule}
        onChange={(event) => onChange({ retry_schedule: event.target.value })}
      />
      <div className="field">
        <div className="expiry">
          <TimeField
            label={t`Expires at`}
            value={draft.expires_at}
            onChange={(expires_at) => onChange({ expires_at })}
          />
          {draft.expires_at && <Button onClick={() => onChange({ expires_at: '' })}>{t`Keep it`}</Button>}
        </div>
        <ExpiryText at={draft.expires_at} fault={faults.of('expires_at')} />
      </div>
    </>
  );
}

function ExpiryText({ at, fault }: { at: string; fault: string | undefined }) {
  const zone = useZone();
  const now = useNow(15_000);
  const atMs = Date.parse(at);
  const wrong = fault ?? (atMs <= now ? t`This time has passed. Choose one in the future.` : undefined);
  const hint = at
    ? t`The webhook is deleted ${formatRelative(atMs, now)}, on ${formatSecond(atMs, zone)}. What is waiting then is not sent.`
    : t`Never. At this time, the webhook deletes itself, for example after a trial.`;
  return <Remark fault={wrong} hint={hint} />;
}
