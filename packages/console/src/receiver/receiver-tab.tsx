import type { Webhook } from '@posthorn/client';
import { shownStatusOf } from '../api/webhook-verdict';
import { t } from '../text/language';
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
          {shownStatusOf(webhook) === 'failing'
            ? t`The receiver is verified, but it did not accept the latest delivery.`
            : t`The receiver is verified. It gets each event as soon as the event is recorded.`}
        </p>
      )}
      {rotation && (
        <div className="field">
          <span className="label">{t`New signing secret`}</span>
          <SecretBox secret={rotation.secret} />
          <span className="hint">{t`The outcome of the rotation is unknown, so the secret may already be in effect. To be sure, rotate again in the settings: the same new secret is used. After you reload or close the console, it is not shown again.`}</span>
        </div>
      )}
      {secret ? (
        <div className="field">
          <span className="label">
            {rotation ? t`Signing secret before the rotation` : t`Signing secret`}
          </span>
          <SecretBox secret={secret} />
          <span className="hint">{t`Copy it now. After you reload or close the console, it is not shown again.`}</span>
        </div>
      ) : rotation ? undefined : (
        <p className="soft">{t`The secret can no longer be shown. If you lost it, rotate it in the settings.`}</p>
      )}
      <ReceiverCode url={webhook.url} secret={rotation?.secret ?? secret} />
    </div>
  );
}
