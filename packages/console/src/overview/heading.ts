import type { JudgedWebhook } from '../api/webhook-verdict';
import { plural, t } from '../text/language';

/** Returns the heading of the overview: how many of these webhooks need attention, or how they are otherwise. */
export function headingOf(
  webhooks: readonly Pick<JudgedWebhook, 'status' | 'waitsUntil'>[],
  attention: number,
  workspaceId: string | undefined,
): string {
  if (attention > 0) return plural(attention, '{0} webhook needs attention', '{0} webhooks need attention');
  if (webhooks.length === 0) return workspaceId ? t`${workspaceId} has no webhooks of its own` : t`Welcome`;
  const active = webhooks.filter(({ status }) => status === 'active').length;
  if (active === 0) return t`No webhook is active`;
  // Not all of them are delivering, so they are not all healthy. Which ones wait is said next to the heading.
  if (webhooks.some(({ waitsUntil }) => waitsUntil)) return t`No webhook needs attention`;
  return active < webhooks.length
    ? plural(active, 'The active webhook is healthy', 'All {0} active webhooks are healthy')
    : plural(active, 'The webhook is healthy', 'All {0} webhooks are healthy');
}
