import { Fragment, useState } from 'react';
import { productName, useSettings } from '../api/settings';
import { useStore } from '../browser/store';
import { CodeBlock } from '../code/code-block';
import { Button } from '../parts/button';
import { Field, Form } from '../parts/form';
import { Note } from '../parts/note';
import { Brand } from '../shell/navigation';
import { rich, t } from '../text/language';
import { hasKeptInput } from './kept-input';
import { openSession, session } from './session';

// Without the option, npx would install a package of the same name from the registry outside of a checkout.
const command = `npx --no-install posthorn token create \\
  --organization ORG-demo \\
  --scopes `;
const scopes = ['events:read,', 'webhooks:read,', 'webhooks:write,', 'audit:read'];

/** Asks for a token, and says why the last one no longer works. */
export function SignIn() {
  const state = useStore(session);
  const settings = useSettings();
  const [text, setText] = useState('');
  // The token may be pasted with the name of its scheme, as in the header of a request.
  const token = text.trim().replace(/^Bearer\s+/i, '');
  const cameFrom = state.kind === 'ended' ? state.cameFrom : undefined;
  const keptNote = hasKeptInput() ? t`What you entered in the form has been kept.` : undefined;
  return (
    <main className="signin">
      <div>
        <Brand />
        {cameFrom === 'portal' ? (
          <>
            <h1>{t`This session has ended`}</h1>
            <p className="lead">
              {t`Open this page again from ${productName(settings)}.`} {keptNote}
            </p>
          </>
        ) : (
          <>
            <h1>{t`Sign in with a token`}</h1>
            {state.kind === 'ended' && (
              <Note
                kind="warn"
                role="alert"
                title={cameFrom === 'link' ? t`This link is no longer valid` : t`The token was not accepted`}
              >
                <p>
                  {cameFrom === 'link'
                    ? t`It may have expired. Open the page that the link came from to get a new one, or sign in with a token.`
                    : state.reason}{' '}
                  {keptNote}
                </p>
              </Note>
            )}
            <Form onSubmit={() => token && openSession(token)}>
              <Field
                label={t`Token`}
                hint={t`The token is kept only in this tab, until you close it.`}
                className="mono"
                type="password"
                autoComplete="off"
                spellCheck={false}
                placeholder="pht_…"
                value={text}
                onChange={(event) => setText(event.target.value)}
              />
              <Button type="submit" kind="primary" disabled={!token}>{t`Sign in`}</Button>
            </Form>
            {/* Neither someone who opens an old portal link nor the customer of a named product operates the service. */}
            {cameFrom !== 'link' && settings.version && !settings.name && (
              <>
                <p className="lead small">{rich`No token yet? ${<code>npm start</code>} prints a link that signs you in. To create a token, run this in the checkout that the service runs from:`}</p>
                <CodeBlock title={t`Create a token`} text={command + scopes.join('')} what={t`the command`}>
                  {command}
                  {/* A narrow line is broken between two scopes, not within one. */}
                  {scopes.map((scope) => (
                    <Fragment key={scope}>
                      {scope}
                      <wbr />
                    </Fragment>
                  ))}
                </CodeBlock>
              </>
            )}
          </>
        )}
      </div>
    </main>
  );
}
