import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  retainSearchParams,
} from '@tanstack/react-router';
import { besideNames, keep, parseSearch, type Search, stringifySearch } from './address/search';
import { Overview } from './overview/overview';
import { Frame } from './shell/frame';
import { NotFound, ViewError } from './shell/view-error';

const root = createRootRoute({
  component: Frame,
  notFoundComponent: NotFound,
  validateSearch: (search: Search) => keep('live', 'workspace_id')(search),
  // Live mode and the workspace carry over from view to view until they are changed.
  search: { middlewares: [retainSearchParams(['live', 'workspace_id'])] },
});

const rangeNames = ['range', 'from', 'to'] as const;
const deliveryFilterNames = [
  'webhook_id',
  'state',
  'event_type',
  'event_id',
  'failed_from',
  ...rangeNames,
] as const;

const overview = createRoute({
  getParentRoute: () => root,
  path: '/',
  validateSearch: keep(...rangeNames),
  // Not lazy: most visits begin here, and what it uses is small and shared.
  component: Overview,
});

const events = createRoute({
  getParentRoute: () => root,
  path: 'events',
  validateSearch: keep(
    'type',
    'subject_type',
    'subject_id',
    'actor_id',
    'workspace_id',
    ...rangeNames,
    ...besideNames,
  ),
  component: lazyRouteComponent(() => import('./events/event-list'), 'EventList'),
});

const event = createRoute({
  getParentRoute: () => root,
  path: 'events/$eventId',
  validateSearch: keep('text'),
  component: lazyRouteComponent(() => import('./events/event-detail'), 'EventDetail'),
});

const webhooks = createRoute({
  getParentRoute: () => root,
  path: 'webhooks',
  validateSearch: keep('q', 'show'),
  component: lazyRouteComponent(() => import('./webhooks/webhook-list'), 'WebhookList'),
});

const newWebhook = createRoute({
  getParentRoute: () => root,
  path: 'webhooks/new',
  validateSearch: keep('event_type', 'created', 'framework', 'edit'),
  component: lazyRouteComponent(() => import('./webhook-form/new-webhook'), 'NewWebhook'),
});

const webhook = createRoute({
  getParentRoute: () => root,
  path: 'webhooks/$webhookId',
  validateSearch: keep('tab', 'test', 'framework', 'edit', ...deliveryFilterNames, ...besideNames),
  component: lazyRouteComponent(() => import('./webhooks/webhook-detail'), 'WebhookDetail'),
});

const replay = createRoute({
  getParentRoute: () => root,
  path: 'webhooks/$webhookId/replay',
  validateSearch: keep('from', 'to', 'event_types', 'only_failed', 'replay'),
  component: lazyRouteComponent(() => import('./replay/replay'), 'ReplayView'),
});

const delivery = createRoute({
  getParentRoute: () => root,
  path: 'webhooks/$webhookId/deliveries/$deliveryId',
  validateSearch: keep('attempt', 'text'),
  component: lazyRouteComponent(() => import('./deliveries/delivery-detail'), 'DeliveryDetail'),
});

const deliveries = createRoute({
  getParentRoute: () => root,
  path: 'deliveries',
  validateSearch: keep(...deliveryFilterNames, ...besideNames),
  component: lazyRouteComponent(() => import('./deliveries/delivery-list'), 'DeliveryList'),
});

const foundDelivery = createRoute({
  getParentRoute: () => root,
  path: 'deliveries/$deliveryId',
  component: lazyRouteComponent(() => import('./deliveries/delivery-detail'), 'FoundDelivery'),
});

const eventTypes = createRoute({
  getParentRoute: () => root,
  path: 'event-types',
  validateSearch: keep('q', 'type', 'text'),
  component: lazyRouteComponent(() => import('./event-types/event-types'), 'EventTypes'),
});

const audit = createRoute({
  getParentRoute: () => root,
  path: 'audit',
  validateSearch: keep('actor_id', 'action', 'target_id', 'workspace_id', ...rangeNames),
  component: lazyRouteComponent(() => import('./audit/audit-log'), 'AuditLog'),
});

const verify = createRoute({
  getParentRoute: () => root,
  path: 'verify',
  component: lazyRouteComponent(() => import('./receiver/verify-view'), 'VerifyView'),
});

const token = createRoute({
  getParentRoute: () => root,
  path: 'token',
  component: lazyRouteComponent(() => import('./session/token-view'), 'TokenView'),
});

export const router = createRouter({
  routeTree: root.addChildren([
    overview,
    events,
    event,
    webhooks,
    newWebhook,
    webhook,
    replay,
    delivery,
    deliveries,
    foundDelivery,
    eventTypes,
    audit,
    verify,
    token,
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
