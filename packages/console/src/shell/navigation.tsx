import type { Token } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { Link, useLocation } from '@tanstack/react-router';
import { useLive } from '../address/live';
import { inWorkspace, useWorkspace } from '../address/workspace';
import { productName, useSettings } from '../api/settings';
import { needsAttention } from '../api/webhook-verdict';
import { webhooksQuery } from '../api/webhooks';
import { Icon } from '../parts/icon';
import { permissionOf } from '../session/token';
import { useIsPast } from '../text/clock';
import { shortId } from '../text/identifier';
import { plural, t } from '../text/language';
import { TimeAgo } from '../text/time';
import { isWithin, overlay, referencePath, viewsOf } from './views';

export function SideBar({ token }: { token: Token | undefined }) {
  return (
    <div className="side">
      <Brand />
      <nav aria-label={t`Views`}>
        <ViewLinks token={token} />
      </nav>
      {token && !token.portal && (
        <a href={referencePath} target="_blank" rel="noopener" className="reference">{t`API reference`}</a>
      )}
      {token && (
        <Link to="/token" className="foot soft small">
          <b title={token.actor.id}>{shortId(token.actor.id)}</b>
          {ofToken(token)} <End at={token.expires_at} />
        </Link>
      )}
    </div>
  );
}

/** When the session ends. The clock of the browser may be wrong, so after that time, it says `soon`. */
function End({ at }: { at: string }) {
  return useIsPast(Date.parse(at)) ? t`soon` : <TimeAgo at={at} />;
}

function ofToken({ scopes, portal }: Token): string {
  if (scopes.includes('webhooks:write')) return portal ? t`Session ends` : t`Token expires`;
  return portal ? t`Read-only session ends` : t`Read-only token expires`;
}

/** The navigation on a phone. */
export function BottomBar({ token }: { token: Token }) {
  return (
    <nav className="bottom" aria-label={t`Bottom navigation`}>
      <ViewLinks token={token} isOnPhone />
      <button type="button" onClick={() => overlay.set('more')}>
        <Icon name="more" size={16} />
        {t`More`}
      </button>
    </nav>
  );
}

/** Links to views, on a phone only to those with an icon. The one to the webhooks says how many of them need attention. */
function ViewLinks({ token, isOnPhone }: { token: Token | undefined; isOnPhone?: boolean }) {
  const views = viewsOf(token).filter(({ icon }) => icon || !isOnPhone);
  const path = useLocation({ select: ({ pathname }) => pathname });
  const attention = useAttention(token);
  const need = plural(attention, 'needs attention', 'need attention');
  return views.map((view) => (
    <Link
      key={view.to}
      to={view.to}
      activeOptions={{ exact: true, includeSearch: false }}
      aria-current={isWithin(path, view) ? 'page' : undefined}
    >
      {isOnPhone && view.icon && <Icon name={view.icon} size={16} />}
      {view.name}
      {view.to === '/webhooks' && attention > 0 && (
        <span className="n" title={isOnPhone ? undefined : `${attention} ${need}`}>
          {attention}
          <span className="hidden-visually"> {need}</span>
        </span>
      )}
    </Link>
  ));
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

export function Brand() {
  const settings = useSettings();
  return (
    <div className="brand">
      {settings.logo ? (
        <img src={settings.logo} alt="" />
      ) : (
        <svg
          aria-hidden="true"
          width="22"
          height="16"
          viewBox="0 0 22 16"
          fill="none"
          stroke="currentColor"
          strokeWidth="2"
          strokeLinecap="round"
          strokeLinejoin="round"
        >
          <circle cx="10.5" cy="9" r="5" />
          <path d="M1 3h9.5M15.5 7.5l5-5.5v9" />
        </svg>
      )}
      <span className="cut">{productName(settings)}</span>
    </div>
  );
}
