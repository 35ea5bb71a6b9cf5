import type { QueryClient } from '@tanstack/react-query';
import { tabStorage } from '../browser/storage';
import { createStore } from '../browser/store';
import { t } from '../text/language';
import { forgetInput } from './kept-input';

/** The token of this tab, or why there is none. */
export type Session =
  | { kind: 'none' }
  | { kind: 'open'; token: string }
  | { kind: 'ended'; reason: string; cameFrom: 'portal' | 'link' | 'form' };

const tokenKey = 'posthorn.token';
const portalKey = 'posthorn.portal';

export const session = createStore<Session>({ kind: 'none' });

/** The token of the last link that was opened in this tab. */
let linkToken: string | undefined;

export function tokenOf(now: Session): string | undefined {
  return now.kind === 'open' ? now.token : undefined;
}

/**
 * Takes the token from the URL, if it was opened from a link with a token, or from the storage of this tab.
 * The token is removed from the URL first, so that it does not appear in the history or in a screenshot.
 */
export function restoreSession(): void {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const given = fragment.get('token');
  if (fragment.has('token')) {
    fragment.delete('token');
    const rest = fragment.toString();
    history.replaceState(history.state, '', location.pathname + location.search + (rest ? `#${rest}` : ''));
  }
  linkToken = given ?? linkToken;
  const token = given ?? tabStorage.get(tokenKey);
  if (token) openSession(token);
}

export function openSession(token: string): void {
  if (tabStorage.get(tokenKey) !== token) tabStorage.remove(portalKey);
  tabStorage.set(tokenKey, token);
  session.set({ kind: 'open', token });
  // The browser does not send such a header, which would look as if the service were unreachable.
  if (!/^[\x20-\x7e]+$/.test(token))
    endSession(token, t`It contains a character that is not allowed in a token.`);
}

/** Remembers that the token is a portal session, so that its end can be explained. */
export function markPortal(isPortal: boolean): void {
  if (isPortal) tabStorage.set(portalKey, '1');
}

/** Signs out, and forgets what was loaded. */
export function leave(client: QueryClient): void {
  tabStorage.remove(tokenKey);
  tabStorage.remove(portalKey);
  forgetInput();
  session.set({ kind: 'none' });
  client.clear();
}

/** Ends the session because the API no longer accepts its token. */
export function endSession(token: string, reason: string): void {
  const now = session.get();
  if (now.kind !== 'open' || now.token !== token) return;
  const isPortal = tabStorage.get(portalKey) === '1';
  tabStorage.remove(tokenKey);
  session.set({
    kind: 'ended',
    reason,
    cameFrom: isPortal ? 'portal' : token === linkToken ? 'link' : 'form',
  });
}
