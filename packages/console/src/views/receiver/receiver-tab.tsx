import type { Webhook } from '@posthorn/client';
import { shownStatusOf } from '../webhooks/webhook-tag';
import { ReceiverCode, SecretBox } from './receiver-code';
import { freshSecretOf, useUnresolvedRotation } from './secrets';

/** The code of a receiver for this webhook. */
export function ReceiverTab({ webhook }: { webhook: Webhook }) {
  const secret = freshSecretOf(webhook.id);
  const rotation = useUnresolvedRotation(webhook.id);
  return (
    <div className="stack">
      {webhook.status === 'active' && (
        <p className="soft">
          The receiver is verified
          {shownStatusOf(webhook) === 'failing'
            ? ', but it did not accept the latest delivery.'
            : '. It gets each event as soon as the event is recorded.'}
        </p>
      )}
      {rotation && (
        <div className="field">
          <span className="label">New signing secret</span>
          <SecretBox secret={rotation.secret} />
          <span className="hint">
            The outcome of the rotation is unknown, so the secret may already be in effect. To be sure, rotate
            again in the settings: the same new secret is used. After you reload or close the console, it is
            not shown again.
          </span>
        </div>
      )}
      {secret ? (
        <div className="field">
          <span className="label">{rotation ? 'Signing secret before the rotation' : 'Signing secret'}</span>
          <SecretBox secret={secret} />
          <span className="hint">
            Copy it now. After you reload or close the console, it is not shown again.
          </span>
        </div>
      ) : rotation ? undefined : (
        <p className="soft">The secret can no longer be shown. If you lost it, rotate it in the settings.</p>
      )}
      <ReceiverCode url={webhook.url} secret={rotation?.secret ?? secret} />
    </div>
  );
}
