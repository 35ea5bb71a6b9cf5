import { Dialog } from '@base-ui/react/dialog';
import type { Token } from '@posthorn/client';
import { overlay } from './overlay-store';
import { isMac } from './top-bar';
import { viewsOf } from './views';

export function ShortcutHelp({ token }: { token: Token }) {
  const shortcuts: [keys: string[], what: string][] = [
    [[isMac ? '⌘K' : 'Ctrl K'], 'Go anywhere: a view, a webhook, any ID'],
    [['/'], 'Filter the list'],
    [['j', 'k', 'Enter'], 'Next row, previous row, open'],
    [['r'], 'Redeliver'],
    [['l'], 'Live mode'],
    [['u'], 'Local time or UTC'],
    ...viewsOf(token).map(({ key, name }): [string[], string] => [['g', key], name]),
    [['?'], 'This list'],
  ];
  return (
    <Dialog.Root open onOpenChange={(open) => !open && overlay.set(undefined)}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog help">
          <Dialog.Title>Keyboard shortcuts</Dialog.Title>
          <dl>
            {shortcuts.map(([keys, what]) => (
              <div key={what} className="facts-row">
                <dt>
                  {keys.map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
          <div className="actions">
            <Dialog.Close className="btn">Close</Dialog.Close>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
