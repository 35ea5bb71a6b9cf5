import type { JudgedWebhook } from '../../api/webhooks';
import { plural } from '../../text/format';

/** Returns the heading of the overview: how many of these webhooks need attention, or how they are otherwise. */
export function headingOf(
  webhooks: readonly Pick<JudgedWebhook, 'status' | 'waitsUntil'>[],
  attention: number,
  workspaceId: string | undefined,
): string {
  if (attention > 0) return `${plural(attention, 'webhook needs', 'webhooks need')} attention`;
  if (webhooks.length === 0) return workspaceId ? `${workspaceId} has no webhooks of its own` : 'Welcome';
  const active = webhooks.filter(({ status }) => status === 'active').length;
  const whose = workspaceId ? ` of ${workspaceId}` : '';
  if (active === 0) return `No webhook${whose} is active`;
  // Not all of them are delivering, so they are not all healthy. Which ones wait is said next to the heading.
  if (webhooks.some(({ waitsUntil }) => waitsUntil)) return `No webhook${whose} needs attention`;
  const what = active < webhooks.length ? 'active webhook' : 'webhook';
  return active === 1 ? `The ${what}${whose} is healthy` : `All ${active} ${what}s${whose} are healthy`;
}
