import type { Webhook } from '@posthorn/client';
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useAction } from '../api/action';
import { posthorn } from '../api/client';
import { useSettings } from '../api/settings';
import { webhookName } from '../api/webhook-name';
import { showChanged } from '../api/webhooks';
import { Button } from '../parts/button';
import { Confirm, useConfirm } from '../parts/confirm';
import { ProblemNote } from '../parts/states';
import { showToast } from '../parts/toast';
import { t } from '../text/language';

/** Pauses, resumes or disables a webhook, or activates a disabled one. */
export function StatusButtons({ webhook }: { webhook: Webhook }) {
  const { retention_days: days } = useSettings();
  const { status } = webhook;
  const activate = useStatusChange(webhook);
  if (status === 'disabled' || status === 'paused') {
    const [label, busy] = status === 'paused' ? [t`Resume`, t`Resuming…`] : [t`Activate`, t`Verifying…`];
    return (
      <>
        {status === 'paused' && <DisableButton webhook={webhook} />}
        <Button kind="primary" disabled={activate.isPending} onClick={() => activate.mutate('active')}>
          {activate.isPending ? busy : label}
        </Button>
        {activate.error && <ProblemNote error={activate.error} isAction />}
      </>
    );
  }
  return (
    <>
      {status === 'active' && (
        <ConfirmedChange webhook={webhook} to="paused">
          <p>{t`Nothing is sent from now on, and nothing fails because of it. Events are still recorded, and their deliveries wait. Retries keep their place.`}</p>
          <p>{t`When you resume the webhook, what waits is sent, oldest first. Only deliveries of events older than ${days} days are lost.`}</p>
        </ConfirmedChange>
      )}
      <DisableButton webhook={webhook} />
    </>
  );
}

function DisableButton({ webhook }: { webhook: Webhook }) {
  return (
    <ConfirmedChange webhook={webhook} to="disabled">
      <p>{t`Deliveries stop immediately, and those that are waiting fail without any further attempts. No deliveries are created for events that are recorded while the webhook is disabled. You can send all of these events later with a replay.`}</p>
      {webhook.status !== 'unverified' && <p>{t`To keep what is waiting, pause the webhook instead.`}</p>}
    </ConfirmedChange>
  );
}

function useStatusChange(webhook: Webhook, onChanged?: () => void) {
  const client = useQueryClient();
  return useAction({
    mutationFn: (status: 'active' | 'paused' | 'disabled') =>
      posthorn.webhooks.change(webhook.id, { status }),
    onSuccess: (changed) => {
      onChanged?.();
      showChanged(client, changed);
      showToast(
        {
          active: webhook.status === 'paused' ? t`Resumed: what was waiting is sent now.` : t`Active.`,
          paused: t`Paused.`,
          disabled: t`Disabled.`,
          unverified: t`Not verified. See the reason on this page.`,
        }[changed.status],
      );
    },
  });
}

const verbs = { paused: [t`Pause`, t`Pausing…`], disabled: [t`Disable`, t`Disabling…`] } as const;
type Change = keyof typeof verbs;

/** A change of the status, after a question that says what it does. */
function ConfirmedChange({ webhook, to, children }: { webhook: Webhook; to: Change; children: ReactNode }) {
  const [verb, busy] = verbs[to];
  const change = useStatusChange(webhook, () => confirm.close());
  const confirm = useConfirm(change);
  return (
    <>
      <Button onClick={confirm.ask}>{verb}…</Button>
      <Confirm
        {...confirm.dialog}
        title={`${verb} ${webhookName(webhook)}?`}
        action={change.isPending ? busy : verb}
        onConfirm={() => change.mutate(to)}
      >
        {children}
      </Confirm>
    </>
  );
}
