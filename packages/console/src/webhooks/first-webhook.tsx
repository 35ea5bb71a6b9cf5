import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useStore } from '../browser/store';
import { CodeBlock } from '../code/code-block';
import { jsonCurl } from '../code/curl';
import { Empty } from '../parts/states';
import { MissingScopes } from '../session/forbidden';
import { session } from '../session/session';
import { sendScopes, usePermission, useToken } from '../session/token';
import { t } from '../text/language';

/** Explains what a webhook does, and how to create the first one. */
export function FirstWebhook() {
  const may = usePermission();
  const token = useToken();
  const body = {
    organization_id: token.organization_id,
    url: 'https://example.com/webhooks',
    event_types: ['*'],
  };
  return (
    <Empty title={t`No webhooks yet`}>
      <p>
        {t`A webhook sends each event that it subscribes to as a signed HTTP request to your URL, and retries it for hours if your receiver does not respond with 2xx.`}{' '}
        {may.send && t`All you need is a URL. The form shows code for a receiver.`}
      </p>
      {!may.send && (
        <p>
          {token.portal ? t`This session cannot create one.` : t`This token cannot create one.`}{' '}
          <MissingScopes scopes={sendScopes} />
        </p>
      )}
      {may.send && (
        <>
          <p>
            <Link to="/webhooks/new" className="btn primary">{t`New webhook`}</Link>
          </p>
          <TokenCommand
            title={t`Or from a terminal`}
            command={(secret) =>
              jsonCurl(`'${location.origin}/v1/webhooks'`, `'Authorization: Bearer ${secret}'`, body)
            }
          />
        </>
      )}
    </Empty>
  );
}

/**
 * A command that contains the token of this tab. The token is hidden until the user shows it, but it is
 * always copied.
 */
function TokenCommand({ title, command }: { title: string; command: (token: string) => string }) {
  const state = useStore(session);
  const [isShown, setShown] = useState(false);
  const token = state.kind === 'open' ? state.token : '';
  return (
    <CodeBlock
      title={title}
      text={command(token)}
      what={t`the command with the token`}
      aside={
        <button type="button" className="link" aria-pressed={isShown} onClick={() => setShown(!isShown)}>
          {isShown ? t`Hide the token` : t`Show the token`}
        </button>
      }
    >
      {command(isShown ? token : `${token.slice(0, 4)}••••••••`)}
    </CodeBlock>
  );
}
