import type { Webhook } from '@posthorn/client';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useAction } from '../../action';
import { posthorn } from '../../api/client';
import { webhookQuery } from '../../api/webhooks';
import { newActionKey, newSecret } from '../../identifier';
import { Confirm } from '../../parts/confirm';
import { Segmented } from '../../parts/segmented';
import { webhookName } from '../../parts/webhook-tag';
import { keepFreshSecret } from './fresh-secret';
import { SecretBox } from './secret-box';

const graces = [
  { key: '0s', label: 'None' },
  { key: '1h', label: '1 hour' },
  { key: '24h', label: '24 hours' },
  { key: '7d', label: '7 days' },
] as const;

/** Rotates the secret. The page generates the new secret, so that it can be copied before it takes effect. */
export function RotateButton({ webhook }: { webhook: Webhook }) {
  const client = useQueryClient();
  const [next, setNext] = useState<{ secret: string; key: string } | undefined>();
  const [grace, setGrace] = useState<(typeof graces)[number]['key']>('24h');
  const rotate = useAction({
    mutationFn: ({ secret, key }: { secret: string; key: string }) =>
      posthorn.webhooks.rotateSecret(webhook.id, { secret, grace }, { idempotencyKey: key }),
    onSuccess: (rotated, { secret }) => {
      keepFreshSecret(webhook.id, secret);
      client.setQueryData(webhookQuery(webhook.id).queryKey, rotated);
    },
  });
  const { previous_secret_until: until } = webhook;
  const hasOlder = until !== null && Date.parse(until) > Date.now();
  return (
    <>
      <button
        type="button"
        className="btn"
        onClick={() => {
          rotate.reset();
          setNext({ secret: newSecret(), key: newActionKey() });
        }}
      >
        Rotate…
      </button>
      <Confirm
        isOpen={next !== undefined}
        onClose={() => setNext(undefined)}
        title={
          rotate.isSuccess
            ? 'Requests are now signed with the new secret'
            : `Rotate the secret of ${webhookName(webhook)}?`
        }
        action={rotate.isSuccess ? 'Done' : rotate.isPending ? 'Rotating…' : 'Rotate'}
        isDone={rotate.isSuccess}
        isBusy={rotate.isPending}
        error={rotate.error}
        onConfirm={() => {
          if (rotate.isSuccess) setNext(undefined);
          else if (next) rotate.mutate(next);
        }}
      >
        <p>
          {rotate.isSuccess
            ? 'Give it to your receiver. After you close this dialog, it is shown in the Receiver tab until you reload the page.'
            : 'This is the new secret. It takes effect when you rotate.'}
        </p>
        <SecretBox secret={next?.secret ?? ''} />
        {!rotate.isSuccess && (
          <div className="field">
            <span className="label">Grace period for the old secret</span>
            <div>
              <Segmented
                label="Grace period for the old secret"
                choices={graces}
                value={grace}
                onChange={setGrace}
              />
            </div>
            <span className="hint">
              {grace === '0s'
                ? 'Your receiver rejects requests until it has the new secret.'
                : 'During this time, requests have both signatures, so your receiver accepts them with either secret.'}
            </span>
            {hasOlder && (
              <span className="hint">
                The secret before the current one is still valid. It becomes invalid when you rotate, so your
                receiver must already have the current one.
              </span>
            )}
          </div>
        )}
      </Confirm>
    </>
  );
}
