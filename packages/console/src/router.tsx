import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type RouteComponent,
  retainSearchParams,
} from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { carriedNames, keptSearch, parseSearch, stringifySearch } from './address/search';
import { Overview } from './overview/overview';
import { Gate, type Need } from './session/forbidden';
import { sendScopes } from './session/token';
import { Frame } from './shell/frame';
import { NotFound, ViewError } from './shell/view-error';
import { t } from './text/language';

const root = createRootRoute({
  component: Frame,
  notFoundComponent: NotFound,
  validateSearch: keptSearch,
  // Live mode and the workspace carry over from view to view until they are changed.
  search: { middlewares: [retainSearchParams([...carriedNames])] },
});

const noNeed: Need = ['', []];
const seeEvents: Need = [t`see events`, ['events:read']];
const seeTypes: Need = [t`see event types`, ['events:read']];
const seeWebhooks: Need = [t`see webhooks`, ['webhooks:read']];
const seeDeliveries: Need = [t`see deliveries`, ['webhooks:read']];
const seeAudit: Need = [t`see the audit log`, ['audit:read']];
const create: Need = [t`create webhooks`, sendScopes];
const replay: Need = [t`replay events`, sendScopes];

/** A view that is loaded when it is opened, and that only a token with its scopes sees. */
function view<P extends string, K extends string>(
  path: P,
  load: () => Promise<{ [name in K]: () => ReactNode }>,
  name: K,
  need: Need,
) {
  const View: RouteComponent = lazyRouteComponent(load, name);
  const gated = () => <Gate need={need} view={View} />;
  return createRoute({
    getParentRoute: () => root,
    path,
    component: Object.assign(gated, { preload: View.preload }) as RouteComponent,
  });
}

const ofWebhook = 'webhooks/$webhookId';

export const router = createRouter({
  routeTree: root.addChildren([
    // Not lazy: most visits begin here, and what it uses is small and shared.
    createRoute({ getParentRoute: () => root, path: '/', component: Overview }),
    view('events', () => import('./events/event-list'), 'EventList', seeEvents),
    view('events/$eventId', () => import('./events/event-detail'), 'EventDetail', seeEvents),
    view('event-types', () => import('./event-types/event-types'), 'EventTypes', seeTypes),
    view('webhooks', () => import('./webhooks/webhook-list'), 'WebhookList', seeWebhooks),
    view('webhooks/new', () => import('./webhook-form/new-webhook'), 'NewWebhook', create),
    view(ofWebhook, () => import('./webhooks/webhook-detail'), 'WebhookDetail', seeWebhooks),
    view(`${ofWebhook}/replay`, () => import('./replay/replay'), 'ReplayView', replay),
    view('deliveries', () => import('./deliveries/delivery-list'), 'DeliveryList', seeDeliveries),
    view(
      'deliveries/$deliveryId',
      () => import('./deliveries/delivery-detail'),
      'FoundDelivery',
      seeDeliveries,
    ),
    view(
      `${ofWebhook}/deliveries/$deliveryId`,
      () => import('./deliveries/delivery-detail'),
      'DeliveryDetail',
      seeDeliveries,
    ),
    view('audit', () => import('./audit/audit-log'), 'AuditLog', seeAudit),
    view('verify', () => import('./receiver/verify-view'), 'VerifyView', noNeed),
    view('token', () => import('./session/token-view'), 'TokenView', noNeed),
  ]),
  basepath: '/console',
  defaultPreload: 'intent',
  defaultErrorComponent: ViewError,
  scrollRestoration: true,
  parseSearch,
  stringifySearch,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
