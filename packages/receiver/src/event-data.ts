// Generated from packages/server/catalogue.json. To change it, change that file, then run
// UPDATE_DOCS=1 npx vitest run packages/server/test/docs.test.ts

/** The type of `data` in the envelope of an event, by event type. */
export interface EventData {
  /** A service line became active. */
  'service_line.activated': {
    /** Status before the change. */
    previous_status: string;
    /** Status after the change. */
    new_status: string;
    /** How the work is done, such as `managed`. */
    execution_model: string;
    /** Product line of the service. */
    product_line: string;
  };
  /** Work on a service line was paused. */
  'service_line.paused': {
    /** Service line ID (`LIN-*`). */
    id?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Why work was paused. */
    reason?: string;
    /** Time when work is expected to resume. Null if unknown. */
    resume_expected_at?: string | null;
  };
  /** A service line was permanently closed. */
  'service_line.closed': {
    /** Service line ID (`LIN-*`). */
    id?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Why the service line was closed. */
    reason?: string;
    /** ID of the final invoice (`INV-*`). Null if there is none. */
    final_invoice_id?: string | null;
  };
  /** The status of a service line changed in a way that has no specific event type. For example, work resumed. */
  'service_line.status_changed': {
    /** Service line ID (`LIN-*`). */
    id?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Why the status changed. */
    reason?: string;
  };
  /** An invoice was finalized: it moved from draft to open. */
  'invoice.finalized': {
    /** Invoice ID (`INV-*`). */
    id?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Service line ID (`LIN-*`). */
    service_line_id?: string;
    /** Invoice number. */
    number?: string;
    /** Total amount, in minor units of the currency. */
    amount_minor?: number;
    /** ISO 4217 currency code, such as `EUR`. */
    currency?: string;
    /** Due date. */
    due_at?: string;
  };
  /** An open invoice was paid in full. */
  'invoice.paid': {
    /** Invoice ID (`INV-*`). */
    id?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Amount received, in minor units of the currency. */
    amount_minor?: number;
    /** ISO 4217 currency code, such as `EUR`. */
    currency?: string;
    /** Payment method, such as `sepa_debit`. */
    payment_method?: string;
    /** Time when the payment was received. */
    paid_at?: string;
  };
  /** A payment for an open invoice failed. The invoice stays open. */
  'invoice.payment_failed': {
    /** Invoice ID (`INV-*`). */
    id?: string;
    /** Amount, in minor units of the currency. */
    amount_minor?: number;
    /** ISO 4217 currency code, such as `EUR`. */
    currency?: string;
    /** Payment method. */
    payment_method?: string;
    /** The payment provider's error code. */
    failure_code?: string;
    /** Why the payment failed, for people. */
    failure_reason?: string;
    /** Number of the payment attempt, starting at 1. */
    attempt?: number;
    /** Time of the next attempt. Null if there is none. */
    next_attempt_at?: string | null;
  };
  /** An invoice was voided and no longer has to be paid. */
  'invoice.voided': {
    /** Invoice ID (`INV-*`). */
    id?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Amount that no longer has to be paid, in minor units of the currency. */
    amount_minor?: number;
    /** ISO 4217 currency code, such as `EUR`. */
    currency?: string;
    /** Why the invoice was voided. */
    reason?: string;
  };
  /** An incident was opened. */
  'incident.opened': {
    /** Incident ID (`INC-*`). */
    id: string;
    /** ID of the affected service line (`LIN-*`). */
    service_line_id: string;
    /** Severity, from `p0` (most severe) to `p9`. */
    severity: string;
    /** Short description of the incident. */
    title: string;
  };
  /** An incident was resolved. */
  'incident.resolved': {
    /** Incident ID (`INC-*`). */
    id?: string;
    /** Service line ID (`LIN-*`). */
    service_line_id?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Final severity, such as `p1`. */
    severity?: string;
    /** How the incident was resolved. */
    resolution?: string;
    /** Time from opening to resolution, in milliseconds. */
    duration_ms?: number;
  };
  /** The severity of an open incident changed. */
  'incident.severity_changed': {
    /** Incident ID (`INC-*`). */
    id?: string;
    /** Service line ID (`LIN-*`). */
    service_line_id?: string;
    /** Severity before the change, such as `p2`. */
    previous_severity?: string;
    /** Severity after the change, such as `p1`. */
    new_severity?: string;
    /** Why the severity changed. */
    reason?: string;
  };
  /** An agent started a run. */
  'agent.run.started': {
    /** Run ID (`RUN-*`). */
    id?: string;
    /** Agent ID (`AGT-*`). */
    agent_id?: string;
    /** Service line ID (`LIN-*`). */
    service_line_id?: string;
    /** Task ID. Null if the run does not belong to a task. */
    task_id?: string | null;
    /** What started the run, such as `schedule`. */
    trigger?: string;
  };
  /** A run completed. */
  'agent.run.completed': {
    /** Service line ID (`LIN-*`). */
    service_line_id: string;
    /** Duration in milliseconds. */
    duration_ms: number;
    /** Number of tokens used. */
    tokens_used: number;
    /** Outcome, such as `success`. */
    outcome: string;
  };
  /** A run failed before it completed. */
  'agent.run.failed': {
    /** Run ID (`RUN-*`). */
    id?: string;
    /** Agent ID (`AGT-*`). */
    agent_id?: string;
    /** Service line ID (`LIN-*`). */
    service_line_id?: string;
    /** Duration in milliseconds. */
    duration_ms?: number;
    /** Number of tokens used. */
    tokens_used?: number;
    /** Error code. */
    error_code?: string;
    /** Error message. */
    error_message?: string;
    /** Whether a retry can succeed. */
    retryable?: boolean;
  };
  /** An agent did, or tried to do, something that a policy forbids. */
  'agent.policy_violated': {
    /** Agent ID (`AGT-*`). */
    id?: string;
    /** Run ID (`RUN-*`). Null if the violation happened outside a run. */
    run_id?: string | null;
    /** Service line ID (`LIN-*`). */
    service_line_id?: string;
    /** Policy that was violated. */
    policy?: string;
    /** What the agent did or tried to do. */
    action?: string;
    /** Whether the action was blocked. */
    blocked?: boolean;
  };
  /** A user was invited to the organization. */
  'user.invited': {
    /** User ID (`USR-*`). */
    id?: string;
    /** Email address that the invitation was sent to. */
    email?: string;
    /** The user's role. */
    role?: string;
    /** ID of the user who sent the invitation (`USR-*`). */
    invited_by?: string;
    /** Time when the invitation expires. Null if it does not expire. */
    expires_at?: string | null;
  };
  /** A user's role changed. */
  'user.role_changed': {
    /** User ID (`USR-*`). */
    id?: string;
    /** Role before the change. */
    previous_role?: string;
    /** Role after the change. */
    new_role?: string;
    /** ID of the user who changed the role (`USR-*`). */
    changed_by?: string;
  };
  /** A user was deactivated and no longer has access to the organization. */
  'user.deactivated': {
    /** User ID (`USR-*`). */
    id?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Why the user was deactivated. */
    reason?: string;
    /** ID of the user who deactivated this user (`USR-*`). */
    deactivated_by?: string;
  };
  /** An external system was connected. */
  'integration.connected': {
    /** Integration ID. */
    id?: string;
    /** External system, such as `zendesk`. */
    provider?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Permissions that the platform has in the external system. */
    scopes?: string[];
  };
  /** Synchronization with an external system failed. */
  'integration.sync_failed': {
    /** Integration ID. */
    id?: string;
    /** External system. */
    provider?: string;
    /** Error code. */
    error_code?: string;
    /** Error message. */
    error_message?: string;
    /** Number of records that were synchronized before the failure. */
    records_synced?: number;
    /** Time when the latest complete synchronization ended. Null before the first one. */
    last_success_at?: string | null;
    /** Time of the next attempt. Null if there is none. */
    next_attempt_at?: string | null;
  };
  /** An external system was disconnected. */
  'integration.disconnected': {
    /** Integration ID. */
    id?: string;
    /** External system. */
    provider?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Why the system was disconnected. */
    reason?: string;
  };
  /** Work in progress was blocked. */
  'execution.blocked': {
    /** Execution ID. */
    id?: string;
    /** Service line ID (`LIN-*`). */
    service_line_id?: string;
    /** Task ID. Null if there is none. */
    task_id?: string | null;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Why the work is blocked. */
    reason?: string;
  };
  /** Blocked work resumed. */
  'execution.resumed': {
    /** Execution ID. */
    id?: string;
    /** Service line ID (`LIN-*`). */
    service_line_id?: string;
    /** Task ID. Null if there is none. */
    task_id?: string | null;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Why the work could resume. */
    resolution?: string;
    /** How long the work was blocked, in milliseconds. */
    blocked_ms?: number;
  };
  /** Utilization crossed a threshold. */
  'capacity.utilisation_warning': {
    /** Capacity ID. */
    id?: string;
    /** Service line ID (`LIN-*`). */
    service_line_id?: string;
    /** Fraction of the capacity in use. 1 means fully used, and more than 1 means overloaded. */
    utilisation?: number;
    /** Threshold that was crossed. */
    threshold?: number;
    /** Length of the measurement period in milliseconds. */
    window_ms?: number;
  };
  /** The planned work exceeds the capacity. */
  'capacity.gap_detected': {
    /** Capacity ID. */
    id?: string;
    /** Service line ID (`LIN-*`). */
    service_line_id?: string;
    /** Skill that the work requires. */
    skill?: string;
    /** Planned hours of work. */
    required_hours?: number;
    /** Available hours of work. */
    available_hours?: number;
    /** Start of the period. */
    starts_at?: string;
    /** End of the period. */
    ends_at?: string;
  };
  /** A task was created. */
  'task.created': {
    /** Task ID. */
    id?: string;
    /** Short description of the task. */
    title?: string;
    /** Initial status. */
    status?: string;
    /** Priority, such as `high`. */
    priority?: string;
    /** Service line ID (`LIN-*`). */
    service_line_id?: string;
    /** ID of the assignee (`USR-*` or `AGT-*`). Null if there is none. */
    assignee_id?: string | null;
    /** Due date. Null if there is none. */
    due_at?: string | null;
  };
  /** The status of a task changed. */
  'task.status_changed': {
    /** Task ID. */
    id?: string;
    /** Service line ID (`LIN-*`). */
    service_line_id?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Why the status changed. */
    reason?: string;
  };
  /** A task was assigned to a user or an agent. */
  'task.assigned': {
    /** Task ID. */
    id?: string;
    /** Service line ID (`LIN-*`). */
    service_line_id?: string;
    /** Type of the assignee, such as `agent`. */
    assignee_type?: string;
    /** ID of the assignee (`USR-*` or `AGT-*`). */
    assignee_id?: string;
    /** ID of the previous assignee. Null if there was none. */
    previous_assignee_id?: string | null;
  };
  /** All attempts to deliver an event to a webhook failed. */
  'webhook.delivery_failed': {
    /** Webhook ID (`WHK-*`). */
    webhook_id: string;
    /** Delivery ID (`WDLV-*`). */
    delivery_id: string;
    /** ID of the event that was not delivered (`EVT-*`). */
    event_id: string;
    /** Type of that event. */
    event_type: string;
    /** Number of attempts. */
    attempts: number;
    /** HTTP status of the last attempt. Null if no response arrived. */
    http_status: number | null;
    /** Why no response arrived, such as `timeout`. Null if a response arrived. */
    error: string | null;
    /** Time of the last attempt. */
    last_attempt_at: string;
  };
  /** A receiver did not respond to the verification request with 200 in time. */
  'webhook.verification_failed': {
    /** Webhook ID (`WHK-*`). */
    webhook_id: string;
    /** Reason, such as `timeout`. */
    reason: string;
    /** HTTP status that the receiver returned. Null if no response arrived. */
    http_status: number | null;
    /** Duration of the verification in milliseconds. */
    duration_ms: number;
  };
  /** A webhook was disabled. It receives no events until it is activated again. */
  'webhook.disabled': {
    /** Webhook ID (`WHK-*`). */
    webhook_id: string;
    /** `gone`: the receiver returned 410. `failing`: every attempt failed for 5 days. `manual`: a request disabled the webhook. */
    reason: 'gone' | 'failing' | 'manual';
  };
  /** Five delivery attempts of a webhook in a row failed. Recorded once, until the webhook recovers. */
  'webhook.failing': {
    /** Webhook ID (`WHK-*`). */
    webhook_id: string;
    /** URL of the webhook. */
    url: string;
    /** Time of the first failed attempt. */
    since: string;
    /** Number of failed attempts since then. */
    failed_attempts: number;
    /** Why no response arrived, such as `timeout`. Null if a response arrived. */
    error: string | null;
    /** HTTP status of the last attempt. Null if no response arrived. */
    http_status: number | null;
    /** What happened, in one or two sentences. */
    error_detail: string | null;
    /** What to do about it, in one or two sentences. */
    remedy: string | null;
  };
  /** A delivery attempt of a failing webhook succeeded. Recorded once for each `webhook.failing`. */
  'webhook.recovered': {
    /** Webhook ID (`WHK-*`). */
    webhook_id: string;
    /** URL of the webhook. */
    url: string;
    /** Time of the first failed attempt. */
    failing_since: string;
    /** Number of attempts that failed in a row. */
    failed_attempts: number;
  };
}
