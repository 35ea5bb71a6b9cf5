import { useQuery } from '@tanstack/react-query';
import { useWorkspace } from '../address/workspace';
import { webhooksQuery } from '../api/webhooks';
import { plural } from '../text/format';

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
      This view shows only webhooks that belong to <span className="nowrap">{workspaceId}</span>.{' '}
      {plural(others, 'organization-wide webhook')} also {others === 1 ? 'receives' : 'receive'} the events of
      this workspace. <WholeOrganization className="link" />
    </p>
  );
}

/** Shows all workspaces again. */
export function WholeOrganization({ className }: { className: string }) {
  const { choose } = useWorkspace();
  return (
    <button type="button" className={className} onClick={() => choose(undefined)}>
      Show the whole organization
    </button>
  );
}
