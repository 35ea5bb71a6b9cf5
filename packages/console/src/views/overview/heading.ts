import type { Webhook } from '@posthorn/client';
import { plural } from '../../format';

/** Returns the heading of the overview: how many of these webhooks need attention, or how they are otherwise. */
export function headingOf(
  webhooks: readonly Pick<Webhook, 'status'>[],
  attention: number,
  workspaceId: string | undefined,
): string {
  if (attention > 0) return `${plural(attention, 'webhook needs', 'webhooks need')} attention`;
  if (webhooks.length === 0) return workspaceId ? `${workspaceId} has no webhooks of its own` : 'Welcome';
  const active = webhooks.filter(({ status }) => status === 'active').length;
  const whose = workspaceId ? ` of ${workspaceId}` : '';
  if (active === 0) return `No webhook${whose} is active`;
  const what = active < webhooks.length ? 'active webhook' : 'webhook';
  return active === 1 ? `The ${what}${whose} is healthy` : `All ${active} ${what}s${whose} are healthy`;
}
