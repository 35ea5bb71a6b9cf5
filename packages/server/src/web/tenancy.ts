import { Problem } from '../values/problem.js';

export interface Tenancy {
  organization_id: string;
  /** The only workspace that this request may see, or undefined for the whole organization. */
  workspace_id: string | undefined;
}

/** Returns what a request may access: what it asks for, within the limits of its token. */
export function tenancyOf(
  token: { organization_id: string; workspace_id: string | null },
  asked: { organization_id?: string | undefined; workspace_id?: string | null | undefined },
): Tenancy {
  if (asked.organization_id !== undefined && asked.organization_id !== token.organization_id) {
    throw new Problem('organization_forbidden', 'The token belongs to another organization.');
  }
  const bound = token.workspace_id ?? undefined;
  if (bound !== undefined && asked.workspace_id !== undefined && asked.workspace_id !== bound) {
    throw new Problem('workspace_forbidden', `The token is restricted to the workspace ${bound}.`);
  }
  return { organization_id: token.organization_id, workspace_id: asked.workspace_id ?? bound };
}
