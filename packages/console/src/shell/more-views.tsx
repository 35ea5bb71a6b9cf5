import { Dialog } from '@base-ui/react/dialog';
import type { Token } from '@posthorn/client';
import { Link } from '@tanstack/react-router';
import { Icon } from '../parts/icon';
import { zone } from '../preferences';
import { useStore } from '../store';
import { overlay } from './overlay-store';
import { mayOpenReference, referencePath } from './reference';
import { tokenViewName, viewsOf } from './views';

/** The views and settings that do not fit into the bottom bar on a phone. */
export function MoreViews({ token }: { token: Token }) {
  const shownZone = useStore(zone);
  const close = () => overlay.set(undefined);
  return (
    <Dialog.Root open onOpenChange={(open) => !open && close()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog more-views">
          <header>
            <Dialog.Title>More</Dialog.Title>
            <Dialog.Close className="icon-btn" aria-label="Close">
              <Icon name="close" />
            </Dialog.Close>
          </header>
          {viewsOf(token)
            .filter((view) => !view.icon)
            .map((view) => (
              <Link key={view.to} to={view.to} className="btn" onClick={close}>
                {view.name}
              </Link>
            ))}
          <Link to="/token" className="btn" onClick={close}>
            {tokenViewName(token)}
          </Link>
          {mayOpenReference(token) && (
            <a href={referencePath} target="_blank" rel="noopener" className="btn" onClick={close}>
              API reference
            </a>
          )}
          <button
            type="button"
            className="btn"
            onClick={() => {
              zone.set(shownZone === 'utc' ? 'local' : 'utc');
              close();
            }}
          >
            {shownZone === 'utc' ? 'Show local time' : 'Show UTC'}
          </button>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
