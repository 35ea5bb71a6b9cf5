/** The resources of the public API, as the console reads them. */

export type Scope = 'events:read' | 'webhooks:read' | 'webhooks:write' | 'audit:read';

interface Party {
  type: string;
  id: string;
}

export interface Page<T> {
  data: T[];
  meta: { cursor: string | null; has_more: boolean };
}

export interface TokenInfo {
  id: string;
  organization_id: string;
  workspace_id: string | null;
  scopes: Scope[];
  actor: Party;
  created_at: string;
  expires_at: string;
  /** Whether the token is a portal session. */
  portal?: boolean;
}

export interface StreamEvent {
  id: string;
  type: string;
  organization_id: string;
  workspace_id: string | null;
  actor: Party;
  subject: Party;
  payload: unknown;
  created_at: string;
}

export interface EventType {
  type: string;
  description: string;
  schema: JsonSchema;
  sample: unknown;
}

export interface JsonSchema {
  type?: string | string[];
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  enum?: unknown[];
  const?: unknown;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
}

interface VerificationFailure {
  at: string;
  reason: string;
  http_status: number | null;
  duration_ms: number;
  response: string | null;
  error_detail?: string | null;
  remedy?: string | null;
}

export interface Webhook {
  id: string;
  organization_id: string;
  workspace_id: string | null;
  url: string;
  status: 'active' | 'unverified' | 'disabled';
  disabled_reason?: 'gone' | 'failing' | 'manual' | null;
  event_types: string[];
  created_at: string;
  description?: string | null;
  /** The names of the custom headers. The API never returns their values. */
  headers?: Record<string, null> | null;
  rate_limit?: number | null;
  last_delivery_at?: string | null;
  last_delivery_status?: 'success' | 'failed' | null;
  verification_failure?: VerificationFailure | null;
  previous_secret_until?: string | null;
  /** Only in the response that created it. */
  secret?: string;
}

export interface Delivery {
  id: string;
  webhook_id: string;
  event_id: string;
  event_type: string;
  status: 'success' | 'failed' | 'pending';
  final: boolean;
  http_status: number | null;
  error: string | null;
  duration_ms: number | null;
  attempts: number;
  created_at: string;
  delivered_at?: string;
  last_attempt_at?: string;
  next_attempt_at?: string | null;
}

export interface SentRequest {
  /** Null if the webhook has changed since, and nothing says where the request went. */
  url: string | null;
  headers: Record<string, string | null>;
  /** Null if the token may not read events. */
  body: string | null;
}

export interface Attempt {
  attempt: number;
  attempted_at: string;
  http_status: number | null;
  error: string | null;
  duration_ms: number | null;
  response: string | null;
  error_detail?: string | null;
  remedy?: string | null;
  response_headers?: Record<string, string> | null;
}

export interface DeliveryDetail extends Delivery {
  attempt_log: Attempt[];
  request?: SentRequest | null;
}

export interface Receipt {
  id: string;
  webhook_id: string;
  event_id: string;
  event_type: string;
  status: 'success' | 'failed';
  http_status: number | null;
  response_time_ms: number;
  error: string | null;
  attempted_at: string;
  error_detail?: string | null;
  remedy?: string | null;
  response?: string | null;
  response_headers?: Record<string, string> | null;
  request?: SentRequest | null;
}

export interface Replay {
  id: string;
  status: 'running' | 'done' | 'cancelled';
  total: number;
  done: number;
  created_at: string;
}

interface StatsFigures {
  events: number | null;
  delivered: number;
  failed_attempts: number;
  given_up: number;
  p50_ms: number | null;
  p95_ms: number | null;
}

export type Interval = 'minute' | 'hour' | 'day';

export interface Stats {
  interval: Interval;
  from: string;
  to: string;
  buckets: (StatsFigures & { at: string })[];
  totals: StatsFigures;
  events_by_type: { type: string; count: number }[] | null;
}

export interface AuditEntry {
  id: string;
  organization_id: string;
  workspace_id: string | null;
  actor: Party;
  action: string;
  target: Party;
  request_id: string | null;
  source_address: string | null;
  changes: Record<string, { from: unknown; to: unknown }>;
  created_at: string;
}
