import type { Webhook } from '@posthorn/client';
import { shownStatusOf } from '../../parts/webhook-tag';
import { freshSecretOf } from './fresh-secret';
import { ReceiverCode } from './receiver-code';
import { SecretBox } from './secret-box';

/** The code of a receiver for this webhook. */
export function ReceiverTab({ webhook }: { webhook: Webhook }) {
  const secret = freshSecretOf(webhook.id);
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
      {secret ? (
        <div className="field">
          <span className="label">Signing secret</span>
          <SecretBox secret={secret} />
          <span className="hint">
            Copy it now. After you reload or close the console, it is not shown again.
          </span>
        </div>
      ) : (
        <p className="soft">The secret is not shown again. If you lost it, rotate it in the settings.</p>
      )}
      <ReceiverCode url={webhook.url} secret={secret} />
    </div>
  );
}
