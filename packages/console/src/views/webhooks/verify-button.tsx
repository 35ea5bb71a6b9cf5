import type { Webhook } from '@posthorn/client';
import { useQueryClient } from '@tanstack/react-query';
import { useAction } from '../../action';
import { posthorn } from '../../api/client';
import { messageOf } from '../../api/problem';
import { webhookQuery } from '../../api/webhooks';
import { say } from '../../toast';

/** Sends the verification request again. The note of the webhook shows the result. */
export function VerifyButton({
  webhook,
  isPrimary = false,
  label = 'Verify now',
}: {
  webhook: Webhook;
  isPrimary?: boolean;
  label?: string;
}) {
  const client = useQueryClient();
  const verify = useAction({
    mutationFn: () => posthorn.webhooks.verify(webhook.id),
    onSuccess: (verified) => {
      client.setQueryData(webhookQuery(webhook.id).queryKey, verified);
      void client.invalidateQueries({ queryKey: ['webhooks', 'list'] });
      say(
        verified.status === 'active'
          ? 'Verified: the webhook is active.'
          : 'Not verified. See the reason on this page.',
      );
    },
    onError: (error) => say(messageOf(error)),
  });
  return (
    <button
      type="button"
      className={isPrimary ? 'btn primary' : 'btn'}
      disabled={verify.isPending}
      onClick={() => verify.mutate()}
    >
      {verify.isPending ? 'Verifying…' : label}
    </button>
  );
}
