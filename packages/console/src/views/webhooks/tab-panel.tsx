import type { Webhook } from '@posthorn/client';
import { CatchBoundary } from '@tanstack/react-router';
import { lazy, Suspense, useEffect } from 'react';
import { whenIdle } from '../../idle';
import { Skeleton } from '../../parts/skeleton';
import { ViewError } from '../../shell/view-error';
import { DeliveryTable } from '../deliveries/delivery-table';

const parts = {
  activity: () => import('./activity').then((module) => ({ default: module.Activity })),
  settings: () => import('./webhook-settings').then((module) => ({ default: module.WebhookSettings })),
  test: () => import('./test-view').then((module) => ({ default: module.TestView })),
  receiver: () => import('./receiver-tab').then((module) => ({ default: module.ReceiverTab })),
};

const Activity = lazy(parts.activity);
const Settings = lazy(parts.settings);
const TestView = lazy(parts.test);
const ReceiverTab = lazy(parts.receiver);

/**
 * A tab of a webhook. If it cannot be loaded, the rest of the page stays. It is loaded before it is opened, so that it
 * opens even if the service has become unreachable since.
 */
export function TabPanel({ tab, webhook }: { tab: string; webhook: Webhook }) {
  useEffect(
    () =>
      whenIdle(() => {
        for (const load of Object.values(parts)) load().catch(() => undefined);
      }),
    [],
  );
  return (
    <CatchBoundary getResetKey={() => tab} errorComponent={ViewError}>
      <Suspense fallback={<Skeleton />}>
        {tab === 'deliveries' && <DeliveryTable webhook={webhook} />}
        {tab === 'activity' && <Activity webhook={webhook} />}
        {tab === 'settings' && <Settings webhook={webhook} />}
        {tab === 'test' && <TestView webhook={webhook} />}
        {tab === 'receiver' && <ReceiverTab webhook={webhook} />}
      </Suspense>
    </CatchBoundary>
  );
}
