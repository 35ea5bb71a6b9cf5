import type { DeliveryDetail, Webhook } from '@posthorn/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useLive } from '../address/live';
import { useAction } from '../api/action';
import { posthorn } from '../api/client';
import { deliveryQuery, latestFailureQuery } from '../api/deliveries';
import { webhookName } from '../api/webhook-name';
import type { JudgedWebhook } from '../api/webhook-verdict';
import { showChanged } from '../api/webhooks';
import { Button } from '../parts/button';
import { Confirm, useConfirm } from '../parts/confirm';
import { showToast } from '../parts/toast';
import { rich, t } from '../text/language';

/** Reads the delivery that shows why the latest attempt of a webhook failed. */
export function useLatestFailure({ id, latestFailure }: JudgedWebhook) {
  const { refetchInterval } = useLive();
  const known = useQuery({
    ...deliveryQuery(id, latestFailure?.id ?? ''),
    enabled: latestFailure !== undefined,
    refetchInterval,
  });
  const found = useQuery({
    ...latestFailureQuery(id),
    enabled: latestFailure === undefined,
    refetchInterval,
  });
  const { data: delivery, isPending } = latestFailure ? known : found;
  return { delivery, isPending };
}

/**
 * Returns where the receiver redirected the latest attempt to, if that is a URL that a webhook can have, and this one
 * does not have it yet.
 */
export function redirectTarget(
  { attempt_log: attempts, request }: DeliveryDetail,
  webhook: Webhook,
): string | undefined {
  const latest = attempts.at(-1);
  const location = latest?.response_headers?.location;
  const status = latest?.http_status ?? 0;
  if (!location || !request?.url || status < 300 || status > 399) return undefined;
  try {
    const url = new URL(location, request.url);
    const isPossible = url.protocol === 'https:' || url.protocol === 'http:';
    return isPossible && url.href !== webhook.url ? url.href : undefined;
  } catch {
    return undefined;
  }
}

/** Changes the URL of a webhook to the one that its receiver redirects to. */
export function ChangeUrl({ webhook, url, kind }: { webhook: Webhook; url: string; kind?: 'slim' }) {
  const client = useQueryClient();
  const verifies = webhook.status !== 'disabled';
  const change = useAction({
    mutationFn: () => posthorn.webhooks.change(webhook.id, { url }),
    onSuccess: (changed) => {
      confirm.close();
      showChanged(client, changed);
      showToast(
        {
          active: t`Changed and verified: events go to the new URL.`,
          paused: t`Changed and verified: the new URL gets events when the webhook is resumed.`,
          disabled: t`Changed. The new URL is verified when the webhook is activated.`,
          unverified: t`Changed, but not verified. See the reason on the page of the webhook.`,
        }[changed.status],
      );
    },
  });
  const confirm = useConfirm(change);
  return (
    <>
      <Button kind={kind} onClick={confirm.ask}>{t`Change the URL…`}</Button>
      <Confirm
        {...confirm.dialog}
        title={t`Change the URL of ${webhookName(webhook)}?`}
        action={
          verifies
            ? change.isPending
              ? t`Verifying…`
              : t`Change and verify`
            : change.isPending
              ? t`Changing…`
              : t`Change`
        }
        onConfirm={() => change.mutate()}
      >
        <p>{rich`The receiver redirects to ${<code>{url}</code>}`}</p>
        <p>
          {verifies
            ? t`The new URL is verified first. Until the result is known, events go to the old one.`
            : t`The new URL is verified when the webhook is activated.`}
        </p>
      </Confirm>
    </>
  );
}

/** Sends the verification request again. The note of the webhook shows the result. */
export function useVerification(webhook: Webhook) {
  const client = useQueryClient();
  return useAction({
    mutationFn: () => posthorn.webhooks.verify(webhook.id),
    onSuccess: (verified) => {
      showChanged(client, verified);
      showToast(
        verified.status === 'active'
          ? t`Verified: the webhook is active.`
          : t`Not verified. See the reason on this page.`,
      );
    },
  });
}

type Verification = ReturnType<typeof useVerification>;

/** The button of a verification, whose error the page shows where there is room for it. */
export function VerifyButton({ verify, kind }: { verify: Verification; kind?: 'primary' }) {
  return (
    <Button kind={kind} disabled={verify.isPending} onClick={() => verify.mutate()}>
      {verify.isPending ? t`Verifying…` : t`Verify now`}
    </Button>
  );
}
