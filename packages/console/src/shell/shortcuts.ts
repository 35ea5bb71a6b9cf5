import type { Token } from '@posthorn/client';
import { useNavigate, useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useLive } from '../address/live';
import { switchZone } from '../browser/preferences';
import { moveInList, rememberRow } from '../lists/place';
import { overlay, viewsOf } from './views';

const sequenceMs = 1_200;

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest('input:not([type="checkbox"], [type="radio"]), select, textarea, [contenteditable]') !==
      null
  );
}

/** The keyboard shortcuts of every view. `r` presses the button that a view marks with `data-key`. */
export function useShortcuts(token: Token): void {
  const navigate = useNavigate();
  const { history } = useRouter();
  const { toggle } = useLive();
  useEffect(() => {
    let wentAt = 0;
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.metaKey || event.ctrlKey)) {
        event.preventDefault();
        overlay.set(overlay.get() === 'palette' ? undefined : 'palette');
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey) return;
      if (
        isTyping(event.target) ||
        document.querySelector('[role="alertdialog"], [role="dialog"]') ||
        overlay.get()
      )
        return;
      const isSequence = Date.now() - wentAt < sequenceMs;
      wentAt = 0;
      const view = isSequence && viewsOf(token).find(({ key }) => key === event.key);
      if (view) void navigate({ to: view.to });
      else if (event.key === 'g') wentAt = Date.now();
      else if (event.key === 'j') moveInList(history.location, 1);
      else if (event.key === 'k') moveInList(history.location, -1);
      else if (event.key === 'l') toggle();
      else if (event.key === 'u') switchZone();
      else if (event.key === '?') overlay.set('help');
      else if (event.key === '/') focusFilter(event);
      else document.querySelector<HTMLElement>(`[data-key="${CSS.escape(event.key)}"]`)?.click();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [token, navigate, history, toggle]);
  useEffect(() => {
    const onRow = ({ target }: Event) => {
      const row = target instanceof Element && target.closest<HTMLAnchorElement>('a.row-link');
      if (row) rememberRow(history.location, row);
    };
    // A row that is clicked may have received focus in a history entry that has since been replaced.
    const events = ['focusin', 'click'];
    for (const name of events) addEventListener(name, onRow, true);
    return () => {
      for (const name of events) removeEventListener(name, onRow, true);
    };
  }, [history]);
}

function focusFilter(event: KeyboardEvent): void {
  const filter = document.querySelector<HTMLElement>('[data-filter]');
  if (!filter) return;
  event.preventDefault();
  filter.focus();
}
