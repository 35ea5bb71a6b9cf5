import type { Token } from '@posthorn/client';
import { Link, useLocation } from '@tanstack/react-router';
import { Icon } from '../parts/icon';
import { useAttention } from './attention';
import { overlay } from './overlay-store';
import { isWithin, viewsOf } from './views';

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
