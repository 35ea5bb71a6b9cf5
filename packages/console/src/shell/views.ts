import type { Token } from '@posthorn/client';
import { useEffect } from 'react';
import { createStore } from '../browser/store';
import { permissionOf } from '../session/token';
import { t } from '../text/language';

/** The views of the navigation, and what a token needs for them. */
const views = [
  { to: '/', name: t`Overview`, key: 'o', icon: 'overview', may: 'readWebhooks' },
  { to: '/events', name: t`Events`, key: 'e', icon: 'events', may: 'readEvents' },
  { to: '/webhooks', name: t`Webhooks`, key: 'w', icon: 'webhooks', may: 'readWebhooks' },
  { to: '/deliveries', name: t`Deliveries`, key: 'd', icon: 'deliveries', may: 'readWebhooks' },
  { to: '/event-types', name: t`Event types`, key: 't', icon: undefined, may: 'readEvents' },
  { to: '/audit', name: t`Audit log`, key: 'a', icon: undefined, may: 'readAudit' },
] as const;

type View = (typeof views)[number];

/** Returns the views that the token may see. */
export function viewsOf(token: Token | undefined): View[] {
  if (!token) return [];
  const permission = permissionOf(token.scopes);
  return views.filter(({ may }) => permission[may]);
}

/** Returns what the view of the token itself is called. */
export function tokenViewName(token: Token): string {
  return token.portal ? t`This session` : t`This token`;
}

/** Returns whether a path belongs to a view of the navigation. */
export function isWithin(path: string, view: View): boolean {
  if (view.to === '/') return path === '/';
  if (view.to === '/deliveries') return path.startsWith('/deliveries') || path.includes('/deliveries/');
  if (view.to === '/webhooks' && path.includes('/deliveries/')) return false;
  return path === view.to || path.startsWith(`${view.to}/`);
}

/** Returns the title of the tab: the item if the view shows a single one, then the view, then the product. */
export function titleOf(path: string, product: string, item: string | undefined): string {
  const view = views.find((one) => isWithin(path, one));
  const name = path.startsWith('/token') ? t`Token` : view?.name;
  return [item, name, product].filter((part) => part !== undefined).join(' · ');
}

/** The API reference, which also explains how to receive webhooks. Customers in a portal session have no use for it. */
export const referencePath = '/docs';

/** The name of the one item that the open view shows, such as a webhook. The title of the tab begins with it. */
export const shownItem = createStore<string | undefined>(undefined);

export function useShownItem(name: string | undefined): void {
  useEffect(() => {
    shownItem.set(name);
    return () => shownItem.set(undefined);
  }, [name]);
}

/** The overlay that is open above the view. */
export const overlay = createStore<'palette' | 'help' | 'more' | undefined>(undefined);
