import type { Webhook } from '@posthorn/client';
import { useQueryClient } from '@tanstack/react-query';
import { useAction } from '../../api/action';
import { posthorn } from '../../api/client';
import { showChanged } from '../../api/webhooks';
import { Button } from '../../parts/button';
import { Confirm, useConfirm } from '../../parts/confirm';
import { showToast } from '../../parts/toast';
import { webhookName } from './webhook-tag';

/** Disables a webhook, or activates a disabled one. */
export function StatusButton({
  webhook,
  onActivationError,
}: {
  webhook: Webhook;
  /** Gets the error of an activation, or undefined when another one starts. */
  onActivationError: (error: Error | undefined) => void;
}) {
  const client = useQueryClient();
  const isDisabled = webhook.status === 'disabled';
  const change = useAction({
    mutationFn: () => posthorn.webhooks.change(webhook.id, { status: isDisabled ? 'active' : 'disabled' }),
    onSuccess: (changed) => {
      confirm.close();
      showChanged(client, changed);
      showToast(
        {
          active: 'Active.',
          paused: 'Paused.',
          disabled: 'Disabled.',
          unverified: 'Not verified. See the reason on this page.',
        }[changed.status],
      );
    },
  });
  const confirm = useConfirm(change);
  // Somebody else may have disabled it.
  if (isDisabled && confirm.dialog.isOpen) confirm.close();
  if (isDisabled) {
    return (
      <Button
        kind="primary"
        disabled={change.isPending}
        onClick={() => {
          onActivationError(undefined);
          change.mutate(undefined, { onError: onActivationError });
        }}
      >
        {change.isPending ? 'Verifying…' : 'Activate'}
      </Button>
    );
  }
  return (
    <>
      <Button onClick={confirm.ask}>Disable…</Button>
      <Confirm
        {...confirm.dialog}
        title={`Disable ${webhookName(webhook)}?`}
        action={change.isPending ? 'Disabling…' : 'Disable'}
        onConfirm={() => change.mutate()}
      >
        <p>
          Deliveries stop immediately, and those that are waiting fail without any further attempts. No
          deliveries are created for events that are recorded while the webhook is disabled. You can send all
          of these events later with a replay.
        </p>
      </Confirm>
    </>
  );
}
