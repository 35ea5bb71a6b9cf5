import type { Webhook } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { webhooksQuery } from '../api/webhooks';
import { plural, rich, t } from '../text/language';
import { useSetSearch } from './search';

/** The workspace in the URL, or undefined for all workspaces. */
export function useWorkspace() {
  const workspaceId = useSearch({ strict: false, select: ({ workspace_id }) => workspace_id });
  const set = useSetSearch();
  return { workspaceId, choose: (next: string | undefined) => set({ workspace_id: next }) };
}

/** Keeps the webhooks of a workspace, as the API does for its deliveries and figures. */
export function inWorkspace(webhooks: Webhook[], workspaceId: string | undefined): Webhook[] {
  return workspaceId ? webhooks.filter(({ workspace_id }) => workspace_id === workspaceId) : webhooks;
}

/** If a workspace is chosen, says which webhooks are not shown, although they also receive its events. */
export function WorkspaceNote() {
  const { workspaceId } = useWorkspace();
  const { data = [] } = useQuery(webhooksQuery);
  const others = data.filter(
    ({ workspace_id, status }) => workspace_id === null && status === 'active',
  ).length;
  if (!workspaceId || others === 0) return null;
  return (
    <p className="lead">
      {rich`This view shows only webhooks that belong to ${<span className="nowrap">{workspaceId}</span>}.`}{' '}
      {plural(
        others,
        '{0} organization-wide webhook also receives the events of this workspace.',
        '{0} organization-wide webhooks also receive the events of this workspace.',
      )}{' '}
      <WholeOrganization className="link" />
    </p>
  );
}

/** Shows all workspaces again. */
export function WholeOrganization({ className }: { className: string }) {
  const { choose } = useWorkspace();
  return (
    <button type="button" className={className} onClick={() => choose(undefined)}>
      {t`Show the whole organization`}
    </button>
  );
}
