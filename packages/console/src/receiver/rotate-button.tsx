import type { Webhook } from '@posthorn/client';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useAction } from '../api/action';
import { posthorn } from '../api/client';
import { isOutcomeUnknown } from '../api/problem';
import { webhookName } from '../api/webhook-name';
import { webhookQuery } from '../api/webhooks';
import { Button, Segmented } from '../parts/button';
import { Confirm } from '../parts/confirm';
import { newActionKey, newSecret } from '../text/identifier';
import { t } from '../text/language';
import { SecretBox } from './receiver-code';
import { freshSecrets, gracePeriods, keepRotation, type Rotation, useUnresolvedRotation } from './secrets';

/**
 * Rotates the secret. The page generates the new secret, so that it can be copied before it takes effect. If the outcome
 * of a rotation is unknown, the same one is sent again.
 */
export function RotateButton({ webhook }: { webhook: Webhook }) {
  const client = useQueryClient();
  const [next, setNext] = useState<Rotation | undefined>();
  const open = useUnresolvedRotation(webhook.id);
  const rotate = useAction({
    mutationFn: ({ rotation: { secret, grace, key } }: { rotation: Rotation; isRepeated: boolean }) =>
      posthorn.webhooks.rotateSecret(webhook.id, { secret, grace }, { idempotencyKey: key }),
    onSuccess: (rotated, { rotation }) => {
      freshSecrets.set(webhook.id, rotation.secret);
      keepRotation(webhook.id, undefined);
      client.setQueryData(webhookQuery(webhook.id).queryKey, rotated);
    },
    onError: (error, { rotation, isRepeated }) => {
      if (isOutcomeUnknown(error)) keepRotation(webhook.id, rotation);
      // If a repeated request is refused, the first one may still have taken effect.
      else if (!isRepeated) keepRotation(webhook.id, undefined);
    },
  });
  const isOpen = open !== undefined && !rotate.isSuccess;
  const isSent = isOpen || rotate.isPending;
  const hasOlder = Date.parse(webhook.previous_secret_until ?? '') > Date.now();
  return (
    <>
      <Button
        onClick={() => {
          rotate.reset();
          setNext(open ?? { secret: newSecret(), grace: '24h', key: newActionKey() });
        }}
      >
        {isOpen ? t`Rotate again…` : t`Rotate…`}
      </Button>
      <Confirm
        isOpen={next !== undefined}
        onClose={() => {
          if (rotate.isPending && next) keepRotation(webhook.id, next);
          setNext(undefined);
        }}
        title={
          rotate.isSuccess
            ? t`Requests are now signed with the new secret`
            : isOpen
              ? t`The secret of ${webhookName(webhook)} may have been rotated`
              : t`Rotate the secret of ${webhookName(webhook)}?`
        }
        action={
          rotate.isSuccess ? t`Done` : rotate.isPending ? t`Rotating…` : isOpen ? t`Rotate again` : t`Rotate`
        }
        cancel={isOpen ? t`Close` : t`Cancel`}
        isDone={rotate.isSuccess}
        isBusy={rotate.isPending}
        error={rotate.error}
        onConfirm={() => {
          if (rotate.isSuccess) setNext(undefined);
          else if (next) rotate.mutate({ rotation: next, isRepeated: open !== undefined });
        }}
      >
        <p>
          {rotate.isSuccess
            ? t`Give it to your receiver. After you close this dialog, it is shown in the Receiver tab until you reload the page.`
            : isOpen
              ? t`This is the new secret. It may already be in effect, so your receiver may need it. If you rotate again, the same new secret is used. After you close this dialog, the settings show it until you reload the page.`
              : t`This is the new secret. It takes effect when you rotate.`}
        </p>
        <SecretBox secret={next?.secret ?? ''} />
        {next && !rotate.isSuccess && (
          <div className="field">
            <span className="label">{t`Grace period for the old secret`}</span>
            <div>
              <Segmented
                label={t`Grace period for the old secret`}
                choices={gracePeriods}
                value={next.grace}
                // A request with another grace period would be another rotation.
                onChange={isSent ? undefined : (grace) => setNext({ ...next, grace, key: newActionKey() })}
              />
            </div>
            <span className="hint">
              {next.grace === '0s'
                ? t`Your receiver rejects requests until it has the new secret.`
                : t`During this time, requests have both signatures, so your receiver accepts them with either secret.`}
            </span>
            {hasOlder && !isSent && (
              <span className="hint">{t`The secret before the current one is still valid. It becomes invalid when you rotate, so your receiver must already have the current one.`}</span>
            )}
          </div>
        )}
      </Confirm>
    </>
  );
}
