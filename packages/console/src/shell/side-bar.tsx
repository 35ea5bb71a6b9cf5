import type { Token } from '@posthorn/client';
import { Link, useLocation } from '@tanstack/react-router';
import { useIsPast } from '../clock';
import { shortId } from '../identifier';
import { TimeAgo } from '../parts/time';
import { useAttention } from './attention';
import { Brand } from './brand';
import { mayOpenReference, referencePath } from './reference';
import { isWithin, viewsOf } from './views';

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
