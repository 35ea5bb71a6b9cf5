// Generated from the OpenAPI document of the service. To change it, change the routes, then run
// UPDATE_DOCS=1 npx vitest run packages/client/test/api-types.test.ts

import type { Reference, Token } from './api.js';

export interface CreatePortalSessionRequest {
  /** The organization that the token belongs to. */
  organization_id: string;
  /** Restricts the token to this workspace. */
  workspace_id?: string | null;
  /** The actor that the audit log shows for actions with this token. Default: the token itself. */
  actor?: ReferenceInput;
  /** Whether to omit the `webhooks:write` scope, so that the session cannot change anything. */
  read_only?: boolean;
  /** Lifetime of the session: a duration, at most `24h`. */
  expires?: string;
}

export interface CreateTokenRequest {
  /** The organization that the token belongs to. */
  organization_id: string;
  /** Restricts the token to this workspace. */
  workspace_id?: string | null;
  /** The actor that the audit log shows for actions with this token. Default: the token itself. */
  actor?: ReferenceInput;
  /** What the token may do. Default: `events:read`, `webhooks:read`, `webhooks:write`. */
  scopes?: ('events:read' | 'webhooks:read' | 'webhooks:write' | 'audit:read')[];
  /** Lifetime of the token: a duration, at most `36500d`. */
  expires?: string;
}

export interface IssuedToken {
  /** Token ID. */
  id: string;
  /** The organization that the token belongs to. */
  organization_id: string;
  /** The only workspace that the token can access. Null means the whole organization. */
  workspace_id: string | null;
  /** What the token may do. */
  scopes: ('events:read' | 'webhooks:read' | 'webhooks:write' | 'audit:read')[];
  /** The actor that the audit log shows for actions with this token. */
  actor: Reference;
  /** Time when the token expires. */
  expires_at: string;
  /** The token. It is not shown again: only its hash is stored. */
  token: string;
}

export interface ListedToken extends Omit<Token, 'organization_name'> {
  /** Time when the token was revoked. Null if it is not revoked. */
  revoked_at: string | null;
  /** Time when the token was last used, accurate to within 10 seconds. Null if it was never used. */
  last_used_at: string | null;
}

export interface NewEvent {
  /** Event type. `webhook.*` is not allowed. */
  type: string;
  /** Organization ID. */
  organization_id: string;
  /** Workspace ID. Omit it or use null if the event concerns the whole organization. */
  workspace_id?: string | null;
  /** Who caused the event. */
  actor: ReferenceInput;
  /** What the event is about. */
  subject: ReferenceInput;
  /** Must match the schema of the event type. Additional fields are allowed. */
  payload: Record<string, unknown>;
  /** Makes it safe to repeat the request. For 24 hours, the same key in the same organization returns the first event and records nothing. */
  idempotency_key?: string;
}

export interface Organization {
  /** Organization ID. */
  id: string;
  /** Display name. Null if there is none. */
  name: string | null;
  /** Time when the organization first got a name. */
  created_at: string;
}

export interface PortalSession {
  /** Link to the console, with the token in the fragment. Open it for your customer, or show it in a frame. */
  url: string;
  /** The session's token. It is not shown again: only its hash is stored. */
  token: string;
  /** When the session ends. */
  expires_at: string;
}

export interface RecordedEvent {
  /** Event ID. */
  id: string;
  /** Time when the event was recorded. */
  created_at: string;
}

export interface ReferenceInput {
  /** Type, such as `user` or `invoice`. */
  type: string;
  /** ID. */
  id: string;
}

export interface RenameOrganizationRequest {
  /** Display name. Null removes it. */
  name: string | null;
}

export interface ListTokensQuery {
  /** Organization ID. Return only tokens of this organization. */
  organization_id: string;
  /** `meta.cursor` of the previous page. The filters must be the same. */
  cursor?: string | undefined;
  /** Maximum number of results. */
  limit?: number | undefined;
}
