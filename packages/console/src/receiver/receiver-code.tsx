import type { Webhook } from '@posthorn/client';
import { useSearch } from '@tanstack/react-router';
import { useSetSearch } from '../address/search';
import { shownStatusOf } from '../api/webhook-verdict';
import { CodeBlock } from '../code/code-block';
import { Segmented } from '../parts/button';
import { CopyLine } from '../parts/copy';
import { t } from '../text/language';
import { frameworks, placeOf } from './frameworks';
import { freshSecrets, useUnresolvedRotation } from './secrets';

/** The code of a receiver at a URL in the user's framework, with the secret filled in if it is known. */
export function ReceiverCode({ url, secret }: { url: string; secret: string | undefined }) {
  const chosen = useSearch({ strict: false, select: ({ framework }) => framework });
  const set = useSetSearch({ replace: true });
  const framework = frameworks.find(({ key }) => key === chosen) ?? frameworks[0];
  const place = placeOf(url);
  return (
    <div className="stack">
      <div className="head">
        <h2>{t`Your receiver`}</h2>
        <span className="grow" />
        <Segmented
          label={t`Framework`}
          choices={frameworks}
          value={framework.key}
          onChange={(framework) => set({ framework })}
        />
      </div>
      <CodeBlock
        title={framework.file(place)}
        text={framework.code(secret, place)}
        what={t`the code`}
        isProgram
      />
    </div>
  );
}

export function SecretBox({ secret }: { secret: string }) {
  return <CopyLine text={secret} what={t`the secret`} />;
}

/** The code of a receiver for this webhook. */
export function ReceiverTab({ webhook }: { webhook: Webhook }) {
  const secret = freshSecrets.get(webhook.id);
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
