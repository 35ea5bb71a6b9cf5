import type { Webhook } from '@posthorn/client';
import { useSearch } from '@tanstack/react-router';
import { useSetSearch } from './search';

export interface WorkspaceFilter {
  /** The workspace in the URL, or undefined for all workspaces. */
  workspaceId: string | undefined;
  choose: (workspaceId: string | undefined) => void;
}

/** The workspace filter, which is stored in the URL. */
export function useWorkspace(): WorkspaceFilter {
  const workspaceId = useSearch({ strict: false, select: ({ workspace_id }) => workspace_id });
  const set = useSetSearch();
  return {
    workspaceId,
    choose: (next) => set({ workspace_id: next }),
  };
}

/** Keeps the webhooks of a workspace, as the API does for its deliveries and figures. */
export function inWorkspace(webhooks: Webhook[], workspaceId: string | undefined): Webhook[] {
  return workspaceId ? webhooks.filter(({ workspace_id }) => workspace_id === workspaceId) : webhooks;
}
