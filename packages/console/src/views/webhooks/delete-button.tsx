import type { Webhook } from '@posthorn/client';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useAction } from '../../action';
import { posthorn } from '../../api/client';
import { Confirm } from '../../parts/confirm';
import { hostOf, webhookName } from '../../parts/webhook-tag';
import { say } from '../../toast';

/** Deletes the webhook after the user has typed its name. */
export function DeleteButton({ webhook }: { webhook: Webhook }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [isAsking, setAsking] = useState(false);
  const name = webhookName(webhook);
  const remove = useAction({
    mutationFn: () => posthorn.webhooks.delete(webhook.id),
    onSuccess: async () => {
      say(`Deleted ${name}.`);
      await navigate({ to: '/webhooks', ignoreBlocker: true });
      client.removeQueries({ queryKey: ['webhooks', 'one', webhook.id] });
      void client.invalidateQueries({ queryKey: ['webhooks', 'list'] });
    },
  });
  return (
    <>
      <button
        type="button"
        className="btn danger"
        onClick={() => {
          remove.reset();
          setAsking(true);
        }}
      >
        Delete…
      </button>
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={`Delete ${name}?`}
        action={remove.isPending ? 'Deleting…' : 'Delete'}
        isDanger
        name={webhook.description?.trim() || hostOf(webhook.url)}
        isBusy={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
      >
        <p>
          Nothing more is sent to <code>{webhook.url}</code>. Waiting deliveries are canceled, and its
          deliveries are no longer listed. This cannot be undone.
        </p>
      </Confirm>
    </>
  );
}
