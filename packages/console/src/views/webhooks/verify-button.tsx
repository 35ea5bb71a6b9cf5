import type { Webhook } from '@posthorn/client';
import { useQueryClient } from '@tanstack/react-query';
import { useAction } from '../../api/action';
import { posthorn } from '../../api/client';
import { webhookQuery } from '../../api/webhooks';
import { showToast } from '../../parts/toast';

/** Sends the verification request again. The note of the webhook shows the result. */
export function useVerification(webhook: Webhook) {
  const client = useQueryClient();
  return useAction({
    mutationFn: () => posthorn.webhooks.verify(webhook.id),
    onSuccess: (verified) => {
      client.setQueryData(webhookQuery(webhook.id).queryKey, verified);
      void client.invalidateQueries({ queryKey: ['webhooks', 'list'] });
      showToast(
        verified.status === 'active'
          ? 'Verified: the webhook is active.'
          : 'Not verified. See the reason on this page.',
      );
    },
  });
}

/** The button of a verification, whose error the page shows where there is room for it. */
export function VerifyButton({
  verify,
  isPrimary = false,
}: {
  verify: ReturnType<typeof useVerification>;
  isPrimary?: boolean;
}) {
  return (
    <button
      type="button"
      className={isPrimary ? 'btn primary' : 'btn'}
      disabled={verify.isPending}
      onClick={() => verify.mutate()}
    >
      {verify.isPending ? 'Verifying…' : 'Verify now'}
    </button>
  );
}
