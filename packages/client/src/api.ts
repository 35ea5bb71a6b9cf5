// Generated from the OpenAPI document of the service. To change it, change the routes, then run
// UPDATE_DOCS=1 npx vitest run packages/client/test/api-types.test.ts

export interface Attempt {
  /** Number of the attempt, starting at 1. */
  attempt: number;
  /** Time of the attempt. */
  attempted_at: string;
  /** HTTP status that the receiver returned. Null if no response arrived. */
  http_status: number | null;
  /** Why no response arrived. Null if a response arrived. */
  error: string | null;
  /** Duration in milliseconds. */
  duration_ms: number | null;
  /** First 1 KiB of the response body, as text. */
  response: string | null;
  /** Only for failed attempts: what happened, in one or two sentences. */
  error_detail?: string;
  /** Only for failed attempts: what to do about it, in one or two sentences. */
  remedy?: string;
  /** Only for failed attempts: the response headers listed here, if the receiver sent them. */
  response_headers?: ResponseHeaders;
}

export interface AuditChain {
  /** Organization ID. */
  organization_id: string;
  /** Whether all entries that were checked are valid. */
  intact: boolean;
  /** Number of entries that are stored. */
  entries: number;
  /** Number of entries that were checked: the newest ones, at most 1,000. */
  checked: number;
  /** Position of the last valid entry. */
  position: number;
  /** Hash of the last valid entry, in hexadecimal. Empty if there are no entries. Store it elsewhere to compare it later. */
  head: string;
  /** The first fault in the chain. Null if there is none. */
  fault: AuditChainFault | null;
  /** Time of the check. */
  checked_at: string;
}

export interface AuditChainFault {
  /** `altered`: the hash does not match this entry and the previous hash. `missing`: the entry at this position was removed. `added`: the entry does not belong to the chain. `unknown_end`: the record of where the chain ends was removed. */
  kind: 'altered' | 'missing' | 'added' | 'unknown_end';
  /** Position in the chain. */
  position: number;
  /** ID of the entry at this position or, if that entry is missing, of the next one. Null if there is none. */
  id: string | null;
}

export interface AuditEntry {
  /** Entry ID. */
  id: string;
  /** Organization ID. */
  organization_id: string;
  /** Workspace ID. Null if the action concerns the whole organization. */
  workspace_id: string | null;
  /** Who performed the action, such as a `user`, an `agent` or a `token`. `operator` means that someone used the command line. */
  actor: Reference;
  /** The action, such as `webhook.created`. */
  action: string;
  /** What the action changed, such as a `webhook`, a `token` or a `service_line`. */
  target: Reference;
  /** Request ID, as in `X-Request-Id`. Null for actions on the command line. */
  request_id: string | null;
  /** IP address that the request came from. */
  source_address: string | null;
  /** Every field that changed, with its old and new values. Never contains a secret. */
  changes: Record<string, Change>;
  /** Time of the action. */
  created_at: string;
}

export interface Change {
  /** Old value. Null if there was none. */
  from: unknown;
  /** New value. Null if there is none. */
  to: unknown;
}

export interface ChangeWebhookRequest {
  /** Absolute `https` URL with a public address, at most 2,048 characters. */
  url?: string;
  /** Event types, whole domains (`invoice.*`), or `*` for all types. The string `"*"` means the same as `["*"]`. */
  event_types?: string[];
  /** A name or a note, at most 256 characters. */
  description?: string | null;
  /** Maximum number of requests per second, 1 to 1,000. Null means no limit. The nodes of the service share it, but each may send one request per second. */
  rate_limit?: number | null;
  /** Waits before the second and later attempts of a delivery: 1 to 19 durations from `1ms` to `30d`. Null means the service's waits. */
  retry_schedule?: string[] | null;
  /** Time at which the webhook is deleted. Null means never. */
  expires_at?: string | null;
  /** Which of the subscribed events the webhook gets. All keys must match, and one of the conditions of each key: a string, number, boolean or null that the value must equal, `{"prefix": "…"}`, `{"not": […]}`, `{"exists": true}`, `{"exists": false}`, or one or two of `gt`, `gte`, `lt` and `lte`. The keys are `workspace_id`, `subject_type`, `subject_id`, `actor_type`, `actor_id` and `payload`, which mirrors the payload. Of an array in the payload, one element must match. At most 4 KiB, 64 conditions and 5 levels. Null means all subscribed events. Example: `{"payload": {"currency": ["EUR", "CHF"], "amount": [{"gte": 1000}]}}`. */
  filter?: Record<string, unknown> | null;
  /** Custom headers to send with every request: at most 10 names, with values of 1 to 1,024 printable ASCII characters. A value can contain spaces, but cannot start or end with one. Headers are stored encrypted, and their values are never returned. Not allowed: `Host`, `User-Agent`, `Expect`, `Content-*`, `webhook-*`, `X-Service-*` and connection headers. An update replaces all headers. In an update, a name whose value is null keeps its stored value, and `{}` or null removes all headers. If an update changes the scheme, host or port of `url`, stored values must be given again or removed (422 `secrets_required`). */
  headers?: Record<string, string | null> | null;
  /** The body of a delivery. `envelope`: ID, type, time and `data`, the payload. `event`: the event as the API returns it. `thin`: the same without the payload. `cloudevents`: CloudEvents 1.0 in structured mode. `slack`: a text for the incoming webhook of a chat. `template`: the body that `template` describes. Default: `envelope`. */
  format?: 'envelope' | 'event' | 'thin' | 'cloudevents' | 'slack' | 'template' | null;
  /** The body, if `format` is `template`; otherwise null. In its strings, `{{path}}` stands for a value of the event as the format `event` has it, such as `{{payload.lines.0.amount}}`. A string that is one placeholder becomes that value with its JSON type, or null. Inside a longer string, the value becomes text. `{{{{` stands for two braces. At most 16 KiB, 10 levels, and 10 names in a path. */
  template?: unknown;
  /** `paused` stops sending immediately; what is recorded meanwhile waits. `disabled` also ends what waits. `active` resumes a paused webhook. Any other webhook is verified again; if that fails, it becomes `unverified`. */
  status?: 'active' | 'paused' | 'disabled';
}

export interface CreateWebhookRequest extends Omit<ChangeWebhookRequest, 'url' | 'event_types' | 'status'> {
  /** Organization ID. The token must belong to this organization. */
  organization_id: string;
  /** Workspace ID. If set, the webhook receives only events from this workspace. Otherwise, it receives events from the whole organization. */
  workspace_id?: string | null;
  /** Absolute `https` URL with a public address, at most 2,048 characters. */
  url: string;
  /** Event types, whole domains (`invoice.*`), or `*` for all types. The string `"*"` means the same as `["*"]`. */
  event_types: string[];
  /** Secret that signs the requests: 16 to 256 characters, no control characters. If you omit it, the service generates one and returns it once. */
  secret?: string;
  /** `disabled` creates the webhook without a verification, so that your receiver can get the secret first. To verify and activate it, send PATCH with `"status": "active"`. */
  status?: 'disabled';
}

export interface CreatedWebhook extends Omit<RotatedWebhook, 'last_delivery_at' | 'last_delivery_status' | 'failing_since' | 'previous_secret_until'> {
}

export interface Delivery {
  /** Delivery ID, as in `X-Service-Delivery`. */
  id: string;
  /** Webhook ID. */
  webhook_id: string;
  /** Event ID. */
  event_id: string;
  /** Event type. */
  event_type: string;
  /** `pending` before the first attempt. Between attempts, the status is `failed`, and `final` is false. */
  status: 'success' | 'failed' | 'pending';
  /** Whether the delivery has ended. If true, there will be no further attempts. */
  final: boolean;
  /** HTTP status of the latest attempt. Null if no response arrived. */
  http_status: number | null;
  /** Why no response arrived: `dns`, `connect`, `tls`, `timeout`, `reset`, `protocol` or `blocked_address`. `disabled` if the webhook was disabled before the next attempt. Otherwise null. */
  error: string | null;
  /** Duration of the latest attempt in milliseconds. */
  duration_ms: number | null;
  /** Number of attempts so far. */
  attempts: number;
  /** Time when the delivery was created. */
  created_at: string;
  /** Only for `success`: the time when the receiver responded. */
  delivered_at?: string;
  /** Only if the status is not `success`: the time of the latest attempt. */
  last_attempt_at?: string;
  /** Only if the status is not `success`: the time of the next attempt. Null if there will be none. Also null while the webhook is `unverified` or `paused`: the delivery then waits until the webhook is `active`, and `final` is false. */
  next_attempt_at?: string | null;
}

export interface DeliveryDetail extends Delivery {
  /** All attempts, oldest first. */
  attempt_log: Attempt[];
  /** The request of the latest attempt, without signatures. Before the first attempt, the request that will be sent. If the webhook's URL or header names have changed since the attempt, the custom headers are left out. */
  request: SentRequest;
}

export interface Durations {
  /** Median. Null if there are no successful deliveries. */
  p50: number | null;
  /** 95th percentile. Null if there are no successful deliveries. */
  p95: number | null;
}

export interface Event {
  /** Event ID. */
  id: string;
  /** Event type. `GET /v1/event-types` lists all types. */
  type: string;
  /** Organization ID. */
  organization_id: string;
  /** Workspace ID. Null if the event concerns the whole organization. */
  workspace_id: string | null;
  /** Who caused the event, such as a `user`, an `agent` or the `system`. */
  actor: Reference;
  /** What the event is about, such as a `service_line` or a `run`. */
  subject: Reference;
  /** Depends on the event type. The key order and the numbers are exactly as recorded. */
  payload: Record<string, unknown>;
  /** Time when the event was recorded. */
  created_at: string;
}

export interface EventDeliveriesMeta {
  /** Pass this as `cursor` to get the next page. It does not expire. */
  cursor: string | null;
  /** Whether there are more results. */
  has_more: boolean;
  /** The webhooks that the token can see and that have no delivery of this event, newest first, each with the reason. The reasons are those of the webhooks as they are now. */
  not_delivered: NotDelivered[];
}

export interface EventType {
  /** Event type, as in events and webhooks. */
  type: string;
  /** What the event means. */
  description: string;
  /** JSON Schema of the payload. */
  schema: Record<string, unknown>;
  /** Example of a payload. */
  sample: Record<string, unknown>;
  /** Version of the schema. It increases when the schema changes. */
  version: number;
}

export interface HealthBody {
  /** The check passed. */
  status: 'ok';
}

export interface NotDelivered {
  /** Webhook ID. */
  webhook_id: string;
  /** Why the webhook did not get the event. */
  reason: 'disabled' | 'unverified' | 'not_subscribed' | 'filtered' | 'other_workspace' | 'created_later' | 'about_itself';
  /** The reason, in one or two sentences. */
  detail: string;
}

export interface PageMeta {
  /** Pass this as `cursor` to get the next page. It does not expire. */
  cursor: string | null;
  /** Whether there are more results. */
  has_more: boolean;
}

export interface PreviewResult {
  /** Start of the time range. */
  from: string;
  /** End of the time range. */
  to: string;
  /** How many events were examined: the newest ones of the range, at most 10,000. */
  examined: number;
  /** How many of them the webhook would have got. */
  matched: number;
  /** Whether all events of the range were examined. */
  is_complete: boolean;
  /** The newest of them, at most 10. */
  events: PreviewedEvent[];
}

export interface PreviewWebhookRequest {
  /** Organization ID. The token must belong to this organization. */
  organization_id: string;
  /** Workspace ID. If set, the webhook receives only events from this workspace. Otherwise, it receives events from the whole organization. */
  workspace_id?: string | null;
  /** Event types, whole domains (`invoice.*`), or `*` for all types. The string `"*"` means the same as `["*"]`. */
  event_types: string[];
  /** Which of the subscribed events the webhook gets. All keys must match, and one of the conditions of each key: a string, number, boolean or null that the value must equal, `{"prefix": "…"}`, `{"not": […]}`, `{"exists": true}`, `{"exists": false}`, or one or two of `gt`, `gte`, `lt` and `lte`. The keys are `workspace_id`, `subject_type`, `subject_id`, `actor_type`, `actor_id` and `payload`, which mirrors the payload. Of an array in the payload, one element must match. At most 4 KiB, 64 conditions and 5 levels. Null means all subscribed events. Example: `{"payload": {"currency": ["EUR", "CHF"], "amount": [{"gte": 1000}]}}`. */
  filter?: Record<string, unknown> | null;
  /** The body of a delivery. `envelope`: ID, type, time and `data`, the payload. `event`: the event as the API returns it. `thin`: the same without the payload. `cloudevents`: CloudEvents 1.0 in structured mode. `slack`: a text for the incoming webhook of a chat. `template`: the body that `template` describes. Default: `envelope`. */
  format?: 'envelope' | 'event' | 'thin' | 'cloudevents' | 'slack' | 'template' | null;
  /** The body, if `format` is `template`; otherwise null. In its strings, `{{path}}` stands for a value of the event as the format `event` has it, such as `{{payload.lines.0.amount}}`. A string that is one placeholder becomes that value with its JSON type, or null. Inside a longer string, the value becomes text. `{{{{` stands for two braces. At most 16 KiB, 10 levels, and 10 names in a path. */
  template?: unknown;
  /** Start of the time range: a date or a time. Default: 24 hours before `to`. */
  from?: string;
  /** End of the time range: a date or a time. Default: now. */
  to?: string;
}

export interface PreviewedEvent extends Event {
  /** The body as it would be sent. Only present if the request has a `format`. */
  body?: string;
}

export interface ReadinessBody {
  /** The check passed. */
  status: 'ready';
}

export interface Reference {
  /** Type. */
  type: string;
  /** ID. */
  id: string;
}

export interface Replay {
  /** Replay ID. */
  id: string;
  /** `cancelled` if the webhook was disabled or deleted, or is `unverified`. A paused webhook gets its events when it is resumed. */
  status: 'running' | 'done' | 'cancelled';
  /** Number of events to send. For very large replays, or if events in the time range are still being recorded, this number is exact only when the replay is done. */
  total: number;
  /** Number of events queued so far. For each of them, a delivery was created, or a delivery that was waiting for a retry was scheduled for an immediate attempt. */
  done: number;
  /** Time of the request. */
  created_at: string;
}

export interface ReplayRequest {
  /** Start of the time range, inclusive: a date, or a time with `Z` or an offset. */
  from: string;
  /** End of the time range, inclusive: a date, or a time with `Z` or an offset. Events that are recorded after the request are not included. */
  to: string;
  /** Event types, whole domains (`invoice.*`), or `*` for all types. The string `"*"` means the same as `["*"]`. */
  event_types?: string[];
  /** Send only events whose latest delivery to this webhook failed, or that have no delivery to it. If the latest delivery is waiting for a retry, an extra attempt of it is made now, and no second delivery is created. */
  only_failed?: boolean;
}

export interface ResponseHeaders {
  /** `Content-Type`. */
  'content-type'?: string;
  /** `Location`. */
  location?: string;
  /** `Retry-After`. */
  'retry-after'?: string;
  /** `Server`. */
  server?: string;
}

export interface RotateSecretRequest {
  /** Secret that signs the requests: 16 to 256 characters, no control characters. If you omit it, the service generates one and returns it once. */
  secret?: string;
  /** How long the old secret stays valid: a duration, at most `30d`. */
  grace?: string;
}

export interface RotatedWebhook extends Webhook {
  /** The generated secret. Only present if the request had no secret. It is not returned again. */
  secret?: string;
}

export interface SearchedPageMeta {
  /** Pass this as `cursor` to get the next page. It does not expire. */
  cursor: string | null;
  /** Whether there are more results. */
  has_more: boolean;
  /** How far back the search for this page went. Present if the page ended early because the search reached the maximum number of deliveries that it reads for one page. */
  searched_to?: string;
}

export interface SentRequest {
  /** Request URL. If the webhook's URL or header names have changed since the attempt, this is null for a successful attempt. For a failed attempt, it is the URL that was used, without its query string. */
  url: string | null;
  /** Request headers, without signatures. The values of custom headers are null. */
  headers: Record<string, string | null>;
  /** Request body. Null if the token lacks the `events:read` scope, if the event no longer exists, or if the format of the webhook has changed since. */
  body: string | null;
}

export interface Stats {
  /** Length of a bucket. */
  interval: 'minute' | 'hour' | 'day';
  /** Start of the time range. */
  from: string;
  /** End of the time range. */
  to: string;
  /** Every bucket that overlaps the time range, oldest first. Each bucket is counted as a whole. */
  buckets: StatsBucket[];
  /** Totals of all buckets. */
  totals: StatsTotals;
  /** The 20 most frequent event types. Null if `events` is null. */
  events_by_type: TypeCount[] | null;
  /** The webhooks as they are now, whatever the time range. */
  webhooks: WebhookCounts;
}

export interface StatsBucket extends StatsTotals {
  /** Start of the bucket, in UTC. */
  at: string;
}

export interface StatsTotals {
  /** Number of events recorded. Null if the token lacks the `events:read` scope, or if `webhook_id` is set. */
  events: number | null;
  /** Number of deliveries that succeeded. */
  delivered: number;
  /** Number of attempts that failed, including the last attempt of deliveries that the service gave up on. */
  failed_attempts: number;
  /** Number of deliveries that the service gave up on. */
  given_up: number;
  /** Median duration of the successful attempts, accurate to within 10%. Null if there are none. */
  p50_ms: number | null;
  /** 95th percentile of the duration of the successful attempts, accurate to within 10%. Null if there are none. */
  p95_ms: number | null;
}

export interface TestRequest {
  /** URL. */
  url: string;
  /** Request headers, without signatures. The values of custom headers are null. */
  headers: Record<string, string | null>;
  /** Request body. Null if the token lacks the `events:read` scope, if the event no longer exists, or if the format of the webhook has changed since. */
  body: string | null;
}

export interface TestResult {
  /** Delivery ID, as in `X-Service-Delivery`. */
  id: string;
  /** Webhook ID. */
  webhook_id: string;
  /** Event ID, as in the body that was sent. */
  event_id: string;
  /** Event type. */
  event_type: string;
  /** `success` if the receiver returned 2xx in time. */
  status: 'success' | 'failed';
  /** HTTP status that the receiver returned. Null if no response arrived. */
  http_status: number | null;
  /** Duration of the attempt in milliseconds. */
  response_time_ms: number;
  /** Why no response arrived. Null if a response arrived. */
  error: 'dns' | 'connect' | 'tls' | 'timeout' | 'reset' | 'protocol' | 'blocked_address' | null;
  /** Time of the attempt. */
  attempted_at: string;
  /** What happened, in one or two sentences. Null for `success`. */
  error_detail: string | null;
  /** What to do about it, in one or two sentences. Null for `success`. */
  remedy: string | null;
  /** First 1 KiB of the response body, as text. */
  response: string | null;
  /** The response headers listed here, if the receiver sent them. */
  response_headers: ResponseHeaders;
  /** The request, without signatures. */
  request: TestRequest;
}

export interface TestWebhookRequest {
  /** Event type to send. The event has the sample payload of this type. */
  event_type: string;
}

export interface Token {
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
  /** Time when the token was created. */
  created_at: string;
  /** Time when the token expires. */
  expires_at: string;
  /** Whether the token is a portal session. */
  portal: boolean;
  /** Display name of the organization, if it has one. */
  organization_name: string | null;
}

export interface TypeCount {
  /** Event type. */
  type: string;
  /** Number of events recorded. */
  count: number;
}

export interface VerificationFailure {
  /** Time of the verification. */
  at: string;
  /** Delivery error, such as `timeout`, or `unexpected_status` if the status was not 200. */
  reason: string;
  /** HTTP status that the receiver returned. Null if no response arrived. */
  http_status: number | null;
  /** Duration in milliseconds. */
  duration_ms: number;
  /** First 1 KiB of the response body, as text. */
  response: string | null;
  /** What happened, in one or two sentences. */
  error_detail: string;
  /** What to do about it, in one or two sentences. */
  remedy: string;
}

export interface WaitingDelivery extends Omit<Delivery, 'status' | 'final' | 'delivered_at' | 'next_attempt_at'> {
  /** `pending` before the first attempt, `failed` between attempts. */
  status: 'pending' | 'failed';
  /** Always false, because an attempt will follow. */
  final: boolean;
  /** Time of the next attempt. */
  next_attempt_at: string;
}

export interface Webhook {
  /** Webhook ID. */
  id: string;
  /** Organization ID. */
  organization_id: string;
  /** Workspace ID. Null if the webhook receives events from the whole organization. */
  workspace_id: string | null;
  /** URL that events are sent to. */
  url: string;
  /** An `active` webhook receives events. While it is `paused`, they wait. While it is `unverified` or `disabled`, it receives none. */
  status: 'active' | 'unverified' | 'paused' | 'disabled';
  /** A name or a note, at most 256 characters. */
  description: string | null;
  /** Maximum number of requests per second, 1 to 1,000. Null means no limit. The nodes of the service share it, but each may send one request per second. */
  rate_limit: number | null;
  /** Waits before the second and later attempts of a delivery: 1 to 19 durations from `1ms` to `30d`. Null means the service's waits. */
  retry_schedule: string[] | null;
  /** Time at which the webhook is deleted. Null means never. */
  expires_at: string | null;
  /** Which of the subscribed events the webhook gets. All keys must match, and one of the conditions of each key: a string, number, boolean or null that the value must equal, `{"prefix": "…"}`, `{"not": […]}`, `{"exists": true}`, `{"exists": false}`, or one or two of `gt`, `gte`, `lt` and `lte`. The keys are `workspace_id`, `subject_type`, `subject_id`, `actor_type`, `actor_id` and `payload`, which mirrors the payload. Of an array in the payload, one element must match. At most 4 KiB, 64 conditions and 5 levels. Null means all subscribed events. Example: `{"payload": {"currency": ["EUR", "CHF"], "amount": [{"gte": 1000}]}}`. */
  filter: Record<string, unknown> | null;
  /** Names of the custom headers. Their values are always null. */
  headers: Record<string, string | null>;
  /** The body of a delivery. `envelope`: ID, type, time and `data`, the payload. `event`: the event as the API returns it. `thin`: the same without the payload. `cloudevents`: CloudEvents 1.0 in structured mode. `slack`: a text for the incoming webhook of a chat. `template`: the body that `template` describes. */
  format: 'envelope' | 'event' | 'thin' | 'cloudevents' | 'slack' | 'template';
  /** The body, if `format` is `template`; otherwise null. In its strings, `{{path}}` stands for a value of the event as the format `event` has it, such as `{{payload.lines.0.amount}}`. A string that is one placeholder becomes that value with its JSON type, or null. Inside a longer string, the value becomes text. `{{{{` stands for two braces. At most 16 KiB, 10 levels, and 10 names in a path. */
  template: unknown;
  /** Why the webhook is `disabled`: the receiver returned 410 (`gone`), every attempt failed for 5 days (`failing`), or a request disabled it (`manual`). Otherwise null. */
  disabled_reason: 'gone' | 'failing' | 'manual' | null;
  /** Event types that the webhook subscribes to. */
  event_types: string[];
  /** Time when the webhook was created. */
  created_at: string;
  /** Time of the latest delivery attempt. Null before the first attempt. */
  last_delivery_at: string | null;
  /** Result of the latest delivery attempt. Null before the first attempt. */
  last_delivery_status: 'success' | 'failed' | null;
  /** Time of the first of at least five failed attempts in a row. Null if the webhook is not failing. */
  failing_since: string | null;
  /** Why the latest verification of an `unverified` or `paused` webhook failed. Otherwise null. */
  verification_failure: VerificationFailure | null;
  /** Time until which requests are also signed with the previous secret. Null if there is no previous secret. */
  previous_secret_until: string | null;
}

export interface WebhookCounts {
  /** Active webhooks that are not failing. */
  active: number;
  /** Active webhooks with `failing_since`. */
  failing: number;
  /** Unverified webhooks. */
  unverified: number;
  /** Paused webhooks. */
  paused: number;
  /** Disabled webhooks. */
  disabled: number;
}

export interface WebhookStats {
  /** Start of the 48 hours. */
  since: string;
  /** Number of successful deliveries. */
  success: number;
  /** Number of failed deliveries. */
  failed: number;
  /** Number of deliveries that are waiting for an attempt. */
  pending: number;
  /** Of the deliveries that have ended, the fraction that succeeded, from 0 to 1. Null if none have ended. */
  success_rate: number | null;
  /** Durations of the successful attempts in milliseconds, accurate to within 10%. */
  duration_ms: Durations;
  /** Time when the oldest pending delivery was created. Null if there is none. */
  oldest_undelivered_at: string | null;
  /** Counts for each hour, by the time when the deliveries ended. */
  hours: WebhookStatsHour[];
}

export interface WebhookStatsHour {
  /** Start of the hour. */
  hour: string;
  /** Number of successful deliveries. */
  success: number;
  /** Number of failed deliveries. */
  failed: number;
}

export interface ListEventsQuery extends TailEventsQuery {
  /** Start of the time range, inclusive: a date, or a time with `Z` or an offset. A date starts at 00:00 UTC. */
  from?: string | undefined;
  /** End of the time range, inclusive: a date, or a time with `Z` or an offset. A date ends at 23:59:59.999 UTC. */
  to?: string | undefined;
  /** `desc`: newest first. `asc`: oldest first; if you keep following the cursor, you get every event exactly once. */
  order?: 'desc' | 'asc' | undefined;
  /** `meta.cursor` of the previous page. The filters must be the same. */
  cursor?: string | undefined;
  /** Maximum number of results. */
  limit?: number | undefined;
}

export interface TailEventsQuery {
  /** Organization ID. The token must belong to this organization. */
  organization_id: string;
  /** Return only results for this workspace. */
  workspace_id?: string | undefined;
  /** Return only events of this type. */
  type?: string | undefined;
  /** Return only events about this type of subject. */
  subject_type?: string | undefined;
  /** Return only events about this subject. Use it to get the history of one resource. */
  subject_id?: string | undefined;
  /** Return only events caused by this actor. */
  actor_id?: string | undefined;
}

export interface ListWebhooksQuery {
  /** Organization ID. Default: the token's organization. */
  organization_id?: string | undefined;
  /** Return only webhooks in this workspace. */
  workspace_id?: string | undefined;
  /** `meta.cursor` of the previous page. The filters must be the same. */
  cursor?: string | undefined;
  /** Maximum number of results. */
  limit?: number | undefined;
}

export interface ListAllDeliveriesQuery extends ListDeliveriesQuery {
  /** Organization ID. Default: the token's organization. */
  organization_id?: string | undefined;
  /** Return only deliveries to webhooks in this workspace. */
  workspace_id?: string | undefined;
  /** Return only deliveries to this webhook. */
  webhook_id?: string | undefined;
}

export interface ListDeliveriesQuery {
  /** Return only deliveries with this status. */
  status?: 'success' | 'failed' | undefined;
  /** `true`: return only deliveries that have ended. `false`: return only deliveries that will be attempted again. */
  final?: 'true' | 'false' | undefined;
  /** Return only deliveries of this event type. */
  event_type?: string | undefined;
  /** Return only deliveries of this event. */
  event_id?: string | undefined;
  /** Start of the time range, inclusive: a date, or a time with `Z` or an offset. A date starts at 00:00 UTC. */
  from?: string | undefined;
  /** End of the time range, inclusive: a date, or a time with `Z` or an offset. A date ends at 23:59:59.999 UTC. */
  to?: string | undefined;
  /** `meta.cursor` of the previous page. The filters must be the same. */
  cursor?: string | undefined;
  /** Maximum number of results. */
  limit?: number | undefined;
}

export interface ListEventDeliveriesQuery {
  /** `meta.cursor` of the previous page. The filters must be the same. */
  cursor?: string | undefined;
  /** Maximum number of results. */
  limit?: number | undefined;
}

export interface GetStatsQuery {
  /** Organization ID. Default: the token's organization. */
  organization_id?: string | undefined;
  /** Count only events from this workspace, and deliveries to webhooks in it. */
  workspace_id?: string | undefined;
  /** Count only deliveries to this webhook, and no events. */
  webhook_id?: string | undefined;
  /** Start of the time range, inclusive: a date, or a time with `Z` or an offset. A date starts at 00:00 UTC. */
  from?: string | undefined;
  /** End of the time range, inclusive: a date, or a time with `Z` or an offset. A date ends at 23:59:59.999 UTC. */
  to?: string | undefined;
  /** Length of a bucket. `minute` supports ranges of up to 6 hours. Default: `minute` for up to 6 hours, `hour` for up to 7 days, otherwise `day`. */
  interval?: 'minute' | 'hour' | 'day' | undefined;
}

export interface ListAuditLogsQuery {
  /** Organization ID. Default: the token's organization. */
  organization_id?: string | undefined;
  /** Return only entries for this workspace. */
  workspace_id?: string | undefined;
  /** Return only entries for actions by this actor. */
  actor_id?: string | undefined;
  /** Return only entries with this action. */
  action?: string | undefined;
  /** Return only entries about this target. Use it to get the history of one webhook, token or resource. */
  target_id?: string | undefined;
  /** Start of the time range, inclusive: a date, or a time with `Z` or an offset. A date starts at 00:00 UTC. */
  from?: string | undefined;
  /** End of the time range, inclusive: a date, or a time with `Z` or an offset. A date ends at 23:59:59.999 UTC. */
  to?: string | undefined;
  /** `desc`: newest first. `asc`: oldest first; if you keep following the cursor, you get every entry exactly once. */
  order?: 'desc' | 'asc' | undefined;
  /** `meta.cursor` of the previous page. The filters must be the same. */
  cursor?: string | undefined;
  /** Maximum number of results. */
  limit?: number | undefined;
}

export interface GetAuditChainQuery {
  /** Organization ID. Default: the token's organization. */
  organization_id?: string | undefined;
}
