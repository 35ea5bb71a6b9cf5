import { Menu } from '@base-ui/react/menu';
import { Link, useLocation, useNavigate } from '@tanstack/react-router';
import type { TokenInfo } from '../api/types';
import { Icon } from '../parts/icon';
import { zone } from '../preferences';
import { useStore } from '../store';
import { useAttention } from './attention';
import { isWithin, viewsOf } from './views';

/** The navigation of a phone. */
export function BottomBar({ token }: { token: TokenInfo }) {
  const path = useLocation({ select: ({ pathname }) => pathname });
  const attention = useAttention(token);
  const navigate = useNavigate();
  const shownZone = useStore(zone);
  const all = viewsOf(token);
  return (
    <nav className="bottom" aria-label="Views on a phone">
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
                  <span className="hidden-visually"> need attention</span>
                </span>
              )}
            </Link>
          ),
      )}
      <Menu.Root>
        <Menu.Trigger>
          <Icon name="more" size={16} />
          More
        </Menu.Trigger>
        <Menu.Portal>
          <Menu.Positioner side="top" align="end" sideOffset={8} className="menu-place">
            <Menu.Popup className="menu">
              {all
                .filter((view) => !view.icon)
                .map((view) => (
                  <Menu.Item key={view.to} onClick={() => void navigate({ to: view.to })}>
                    {view.name}
                  </Menu.Item>
                ))}
              <Menu.Item onClick={() => void navigate({ to: '/token' })}>Token</Menu.Item>
              <Menu.Item onClick={() => zone.set(shownZone === 'utc' ? 'local' : 'utc')}>
                {shownZone === 'utc' ? 'Show local time' : 'Show UTC'}
              </Menu.Item>
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
    </nav>
  );
}
