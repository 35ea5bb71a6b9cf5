import { useQueryClient } from '@tanstack/react-query';
import { useSettings } from '../../api/settings';
import { theme, themes, useZone, zone } from '../../browser/preferences';
import { useStore } from '../../browser/store';
import { Button, Segmented } from '../../parts/button';
import { leave } from '../../session/session';
import { type Scope, useToken } from '../../session/token';
import { tokenViewName } from '../../shell/views';
import { ExactTime } from '../../text/time';

const meanings: Record<Scope, string> = {
  'events:read': 'Read events and event types.',
  'webhooks:read': 'Read webhooks, deliveries and statistics.',
  'webhooks:write':
    'Delete webhooks and rotate their secrets. With events:read, also create, change, verify and test webhooks, and redeliver and replay events.',
  'audit:read': 'Read the audit log.',
};

/** Shows who the token belongs to, what it may do, and when it expires. */
export function TokenView() {
  const token = useToken();
  const settings = useSettings();
  const client = useQueryClient();
  const shownTheme = useStore(theme);
  const shownZone = useZone();
  return (
    <>
      <div className="head short">
        <h1>{tokenViewName(token)}</h1>
        <span className="grow" />
        {!token.portal && <Button onClick={() => leave(client)}>Sign out</Button>}
      </div>
      <dl className="facts section">
        <dt>Acts as</dt>
        <dd>
          {token.actor.type} <code>{token.actor.id}</code>
        </dd>
        <dt>Organization</dt>
        <dd>
          {token.organization_name} <code>{token.organization_id}</code>
        </dd>
        <dt>Workspace</dt>
        <dd>{token.workspace_id ? <code>{token.workspace_id}</code> : 'whole organization'}</dd>
        <dt>{token.portal ? 'Ends' : 'Expires'}</dt>
        <dd>
          <ExactTime at={token.expires_at} />
        </dd>
        <dt>Created</dt>
        <dd>
          <ExactTime at={token.created_at} />
        </dd>
        <dt>Token ID</dt>
        <dd className="mono">{token.id}</dd>
      </dl>
      <section className="section">
        <h2>Permissions</h2>
        <dl className="facts">
          {(Object.keys(meanings) as Scope[]).map((scope) => (
            <div key={scope} className="facts-row">
              <dt>
                <code>{scope}</code>
              </dt>
              <dd className={token.scopes.includes(scope) ? 'allowed' : 'allowed soft'}>
                <span className={token.scopes.includes(scope) ? 'tag ok' : 'tag mute'}>
                  {token.scopes.includes(scope) ? 'yes' : 'no'}
                </span>
                <span>{meanings[scope]}</span>
              </dd>
            </div>
          ))}
        </dl>
      </section>
      <section className="section">
        <h2>This browser</h2>
        <dl className="facts controls">
          <dt>Colors</dt>
          <dd>
            <Segmented label="Colors" choices={themes} value={shownTheme} onChange={theme.set} />
          </dd>
          <dt>Times</dt>
          <dd>
            <Segmented
              label="Times"
              choices={[
                { key: 'local', label: 'Local' },
                { key: 'utc', label: 'UTC' },
              ]}
              value={shownZone}
              onChange={zone.set}
            />
          </dd>
        </dl>
      </section>
      {settings.version && (
        <p className="section soft small">
          Version {settings.version} · events and deliveries are kept for {settings.retention_days} days · up
          to {settings.retry_waits_ms.length + 1} attempts per delivery
        </p>
      )}
    </>
  );
}
