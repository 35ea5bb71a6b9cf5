import type { Webhook } from '@posthorn/client';
import { useNavigate, useSearch } from '@tanstack/react-router';

export interface WorkspaceFilter {
  /** The workspace in the URL, or undefined for all workspaces. */
  workspaceId: string | undefined;
  choose: (workspaceId: string | undefined) => void;
}

/** The workspace filter, which is stored in the URL. */
export function useWorkspace(): WorkspaceFilter {
  const workspaceId = useSearch({ strict: false, select: ({ workspace_id }) => workspace_id });
  const navigate = useNavigate();
  return {
    workspaceId,
    choose: (next) =>
      void navigate({
        to: '.',
        search: (search) => ({ ...search, workspace_id: next }) as never,
        resetScroll: false,
      }),
  };
}

/** Keeps the webhooks of a workspace, as the API does for its deliveries and figures. */
export function inWorkspace(webhooks: Webhook[], workspaceId: string | undefined): Webhook[] {
  return workspaceId ? webhooks.filter(({ workspace_id }) => workspace_id === workspaceId) : webhooks;
}
