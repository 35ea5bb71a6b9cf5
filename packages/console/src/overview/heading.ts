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
  if (active === 0) return workspaceId ? t`No webhook of ${workspaceId} is active` : t`No webhook is active`;
  // Not all of them are delivering, so they are not all healthy. Which ones wait is said next to the heading.
  if (webhooks.some(({ waitsUntil }) => waitsUntil))
    return workspaceId ? t`No webhook of ${workspaceId} needs attention` : t`No webhook needs attention`;
  if (active < webhooks.length)
    return workspaceId
      ? plural(
          active,
          'The active webhook of {1} is healthy',
          'All {0} active webhooks of {1} are healthy',
          workspaceId,
        )
      : plural(active, 'The active webhook is healthy', 'All {0} active webhooks are healthy');
  return workspaceId
    ? plural(active, 'The webhook of {1} is healthy', 'All {0} webhooks of {1} are healthy', workspaceId)
    : plural(active, 'The webhook is healthy', 'All {0} webhooks are healthy');
}
