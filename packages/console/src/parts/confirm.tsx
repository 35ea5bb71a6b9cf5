import { type ReactNode, useState } from 'react';
import { rich, t } from '../text/language';
import { Button } from './button';
import { Dialog } from './dialog';
import { Form } from './form';
import { ProblemNote } from './states';

interface ConfirmProps {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  /** The label of the action button. Undefined if there is nothing to do: the dialog can only be closed. */
  action: string | undefined;
  /** The label of the button that closes the dialog without the action. */
  cancel?: string;
  isDanger?: boolean;
  /** The user must type this text first. */
  name?: string;
  /** The action is done, so there is nothing to cancel: only the action button closes the dialog. */
  isDone?: boolean;
  isBusy: boolean;
  error: unknown;
  onConfirm: () => void;
  children: ReactNode;
}

/** Asks before something that has an effect outside the console, or that loses what was typed. */
export function Confirm({ isOpen, onClose, title, ...content }: ConfirmProps) {
  return (
    isOpen && (
      <Dialog title={title} isAlert onClose={() => !content.isDone && onClose()}>
        <Content {...content} onClose={onClose} />
      </Dialog>
    )
  );
}

/** A field has no line breaks, and several spaces are shown as one. */
const asShown = (text: string) => text.trim().replace(/\s+/g, ' ');

function Content({
  action,
  cancel = t`Cancel`,
  isDanger = false,
  name,
  isDone = false,
  isBusy,
  error,
  onClose,
  onConfirm,
  children,
}: Omit<ConfirmProps, 'isOpen' | 'title'>) {
  const [typed, setTyped] = useState('');
  return (
    <Form onSubmit={onConfirm}>
      <div className="body">
        {children}
        {name !== undefined && (
          <label className="field">
            <span>{rich`Type ${<b className="mono">{name}</b>} to confirm`}</span>
            <input
              className="input mono"
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
              autoComplete="off"
            />
          </label>
        )}
      </div>
      {error != null && <ProblemNote error={error} isAction />}
      <div className="actions">
        {!isDone && <Button onClick={onClose}>{cancel}</Button>}
        {action !== undefined && (
          <button
            type="submit"
            className={`btn primary ${isDanger ? 'danger' : ''}`}
            // The second click of a double click must not trigger what the button now does, such as "Done".
            onClick={(event) => event.detail > 1 && event.preventDefault()}
            disabled={isBusy || (name !== undefined && asShown(typed) !== asShown(name))}
          >
            {action}
          </button>
        )}
      </div>
    </Form>
  );
}

/** Asks before an action: `ask` opens the dialog, without the error of an earlier time, and `dialog` is its state. */
export function useConfirm(action: { reset: () => void; isPending: boolean; error: unknown }) {
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  const ask = () => {
    action.reset();
    setOpen(true);
  };
  const { isPending: isBusy, error } = action;
  return { ask, close, dialog: { isOpen, onClose: close, isBusy, error } };
}
