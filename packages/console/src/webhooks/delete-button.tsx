import type { Webhook } from '@posthorn/client';
import { useQueryClient } from '@tanstack/react-query';
import { useMatchRoute, useNavigate } from '@tanstack/react-router';
import { useAction } from '../api/action';
import { posthorn } from '../api/client';
import { problemIn } from '../api/problem';
import { hostOf, webhookName } from '../api/webhook-name';
import { Button } from '../parts/button';
import { Confirm, useConfirm } from '../parts/confirm';
import { showToast } from '../parts/toast';
import { rich, t } from '../text/language';

/** Deletes the webhook after the user has typed its name. */
export function DeleteButton({ webhook }: { webhook: Webhook }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const isShown = useMatchRoute();
  const name = webhookName(webhook);
  const remove = useAction({
    mutationFn: () => deleteIfFound(webhook.id),
    onSuccess: async () => {
      showToast(t`Deleted ${name}.`);
      // The user may have gone on to another view. The other tabs of the webhook have nothing to show any more.
      if (isShown({ to: '/webhooks/$webhookId', params: { webhookId: webhook.id } }))
        await navigate({ to: '/webhooks', ignoreBlocker: true });
      client.removeQueries({ queryKey: ['webhooks', 'one', webhook.id] });
      void client.invalidateQueries({ queryKey: ['webhooks', 'list'] });
    },
  });
  const confirm = useConfirm(remove);
  return (
    <>
      <Button kind="danger" onClick={confirm.ask}>{t`Delete…`}</Button>
      <Confirm
        {...confirm.dialog}
        title={t`Delete ${name}?`}
        action={remove.isPending ? t`Deleting…` : t`Delete`}
        isDanger
        name={webhook.description?.trim() || hostOf(webhook.url)}
        onConfirm={() => remove.mutate()}
      >
        <p>{rich`Nothing more is sent to ${<code>{webhook.url}</code>}. Waiting deliveries are canceled, and the webhook's deliveries are no longer listed. This cannot be undone.`}</p>
      </Confirm>
    </>
  );
}

/** Deletes the webhook. Whoever deleted it, it is no failure if it is not found. */
async function deleteIfFound(webhookId: string): Promise<void> {
  await posthorn.webhooks.delete(webhookId).catch((error) => {
    if (problemIn(error)?.code !== 'not_found') throw error;
  });
}
