import { useQueryClient } from '@tanstack/react-query';
import { useSettings } from '../api/settings';
import { Button } from '../parts/button';
import { Facts } from '../parts/facts';
import { tokenViewName } from '../shell/views';
import { rich, t } from '../text/language';
import { ExactTime } from '../text/time';
import { leave } from './session';
import { type Scope, useToken } from './token';

const meanings: Record<Scope, string> = {
  'events:read': t`Read events and event types.`,
  'webhooks:read': t`Read webhooks, deliveries and statistics.`,
  'webhooks:write': t`Delete webhooks and rotate their secrets. With events:read, also create, change, verify and test webhooks, and redeliver and replay events.`,
  'audit:read': t`Read the audit log.`,
};

/** Shows who the token belongs to, what it may do, and when it expires. */
export function TokenView() {
  const token = useToken();
  const settings = useSettings();
  const client = useQueryClient();
  return (
    <>
      <div className="head short">
        <h1>{tokenViewName(token)}</h1>
        <span className="grow" />
        {!token.portal && <Button onClick={() => leave(client)}>{t`Sign out`}</Button>}
      </div>
      <section className="section">
        <Facts
          of={[
            { name: t`Acts as`, is: rich`${token.actor.type} ${<code>{token.actor.id}</code>}` },
            {
              name: t`Organization`,
              is: rich`${token.organization_name} ${<code>{token.organization_id}</code>}`,
            },
            {
              name: t`Workspace`,
              is: token.workspace_id ? <code>{token.workspace_id}</code> : t`whole organization`,
            },
            { name: token.portal ? t`Ends` : t`Expires`, is: <ExactTime at={token.expires_at} /> },
            { name: t`Created`, is: <ExactTime at={token.created_at} /> },
            { name: t`Token ID`, is: <code>{token.id}</code> },
          ]}
        />
      </section>
      <section className="section">
        <h2>{t`Permissions`}</h2>
        <Facts
          of={(Object.keys(meanings) as Scope[]).map((scope) => ({
            name: <code>{scope}</code>,
            is: (
              <span className={token.scopes.includes(scope) ? 'allowed' : 'allowed soft'}>
                <span className={token.scopes.includes(scope) ? 'tag ok' : 'tag mute'}>
                  {token.scopes.includes(scope) ? t`yes` : t`no`}
                </span>
                <span>{meanings[scope]}</span>
              </span>
            ),
          }))}
        />
      </section>
      {settings.version && (
        <p className="section soft small">{t`Version ${settings.version} · events and deliveries are kept for ${settings.retention_days} days · up to ${settings.retry_waits_ms.length + 1} attempts per delivery`}</p>
      )}
    </>
  );
}
