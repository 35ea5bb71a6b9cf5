import type { Webhook } from '@posthorn/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { posthorn } from '../../api/client';
import { webhookQuery } from '../../api/webhooks';
import { Confirm } from '../../parts/confirm';
import { webhookName } from '../../parts/webhook-tag';
import { say } from '../../toast';

/** Pauses an active webhook, or activates a disabled one. */
export function PauseButton({ webhook }: { webhook: Webhook }) {
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const isDisabled = webhook.status === 'disabled';
  const change = useMutation({
    mutationFn: () => posthorn.webhooks.change(webhook.id, { status: isDisabled ? 'active' : 'disabled' }),
    onSuccess: (changed) => {
      setAsking(false);
      client.setQueryData(webhookQuery(webhook.id).queryKey, changed);
      void client.invalidateQueries({ queryKey: ['webhooks', 'list'] });
      say(
        { active: 'Active.', disabled: 'Paused.', unverified: 'Not verified. The reason is shown.' }[
          changed.status
        ],
      );
    },
  });
  if (isDisabled) {
    return (
      <button
        type="button"
        className="btn primary"
        disabled={change.isPending}
        onClick={() => change.mutate(undefined, { onError: (error) => say(error.message) })}
      >
        {change.isPending ? 'Verifying…' : 'Activate'}
      </button>
    );
  }
  return (
    <>
      <button type="button" className="btn" onClick={() => setAsking(true)}>
        Pause…
      </button>
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={`Pause ${webhookName(webhook)}?`}
        action={change.isPending ? 'Pausing…' : 'Pause'}
        isBusy={change.isPending}
        error={change.error}
        onConfirm={() => change.mutate()}
      >
        <p>
          Deliveries stop at once, and those that wait end as given up. Events that are recorded while it is
          paused make no deliveries. A replay can send all of them later.
        </p>
      </Confirm>
    </>
  );
}
