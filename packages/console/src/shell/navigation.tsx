import type { Token } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { Link, useLocation } from '@tanstack/react-router';
import { useLive } from '../address/live';
import { inWorkspace, useWorkspace } from '../address/workspace';
import { webhooksQuery } from '../api/webhooks';
import { Icon } from '../parts/icon';
import { permissionOf } from '../session/token';
import { useIsPast } from '../text/clock';
import { shortId } from '../text/identifier';
import { TimeAgo } from '../text/time';
import { needsAttention } from '../views/webhooks/webhook-tag';
import { Brand } from './brand';
import { overlay } from './overlay-store';
import { isWithin, mayOpenReference, referencePath, viewsOf } from './views';

export function SideBar({ token }: { token: Token | undefined }) {
  const path = useLocation({ select: ({ pathname }) => pathname });
  const attention = useAttention(token);
  return (
    <div className="side">
      <Brand />
      <nav aria-label="Views">
        {viewsOf(token).map((view) => (
          <Link
            key={view.to}
            to={view.to}
            activeOptions={{ exact: true, includeSearch: false }}
            aria-current={isWithin(path, view) ? 'page' : undefined}
          >
            {view.name}
            {view.to === '/webhooks' && attention > 0 && (
              <span className="n" title={`${attention} ${attention === 1 ? 'needs' : 'need'} attention`}>
                {attention}
                <span className="hidden-visually"> {attention === 1 ? 'needs' : 'need'} attention</span>
              </span>
            )}
          </Link>
        ))}
      </nav>
      {token && mayOpenReference(token) && (
        <a href={referencePath} target="_blank" rel="noopener" className="reference">
          API reference
        </a>
      )}
      {token && (
        <Link to="/token" className="foot">
          <b title={token.actor.id}>{shortId(token.actor.id)}</b>
          {ofToken(token)} <End at={token.expires_at} />
        </Link>
      )}
    </div>
  );
}

/** When the session ends. The clock of the browser may be wrong, so after that time, it says `soon`. */
function End({ at }: { at: string }) {
  return useIsPast(Date.parse(at)) ? 'soon' : <TimeAgo at={at} />;
}

function ofToken({ scopes, portal }: Token): string {
  const kind = portal ? 'session ends' : 'token expires';
  return scopes.includes('webhooks:write')
    ? kind.replace(/^./, (first) => first.toUpperCase())
    : `Read-only ${kind}`;
}

/** The navigation on a phone. */
export function BottomBar({ token }: { token: Token }) {
  const path = useLocation({ select: ({ pathname }) => pathname });
  const attention = useAttention(token);
  const all = viewsOf(token);
  return (
    <nav className="bottom" aria-label="Bottom navigation">
      {all.map(
        (view) =>
          view.icon && (
            <Link
              key={view.to}
              to={view.to}
              activeOptions={{ exact: true, includeSearch: false }}
              aria-current={isWithin(path, view) ? 'page' : undefined}
            >
              <Icon name={view.icon} size={16} />
              {view.name}
              {view.to === '/webhooks' && attention > 0 && (
                <span className="n">
                  {attention}
                  <span className="hidden-visually"> {attention === 1 ? 'needs' : 'need'} attention</span>
                </span>
              )}
            </Link>
          ),
      )}
      <button type="button" onClick={() => overlay.set('more')}>
        <Icon name="more" size={16} />
        More
      </button>
    </nav>
  );
}

const slowMs = 60_000;

/** Returns how many webhooks of the chosen workspace need attention, for the navigation. */
function useAttention(token: Token | undefined): number {
  const { refetchInterval } = useLive();
  const { workspaceId } = useWorkspace();
  const { data } = useQuery({
    ...webhooksQuery,
    enabled: token !== undefined && permissionOf(token.scopes).readWebhooks,
    refetchInterval: refetchInterval || slowMs,
  });
  return inWorkspace(data ?? [], workspaceId).filter(needsAttention).length;
}
