// Printed from the catalogue of the server: change it there, then run
// UPDATE_DOCS=1 npx vitest run packages/server/test/docs.test.ts

/** What `data` holds in an envelope about an event, by its type. */
export interface EventData {
  /** A service line moved to active status. */
  'service_line.activated': {
    /** Status before the change. */
    previous_status: string;
    /** Status after the change. */
    new_status: string;
    /** How the work of the line is carried out, such as `managed`. */
    execution_model: string;
    /** The product line it is sold under. */
    product_line: string;
  };
  /** Work on a service line stopped for the time being. */
  'service_line.paused': {
    /** `LIN-*` of the service line. */
    id?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Why it was paused. */
    reason?: string;
    /** When work is expected to go on; null where nobody knows. */
    resume_expected_at?: string | null;
  };
  /** A service line ended for good. */
  'service_line.closed': {
    /** `LIN-*` of the service line. */
    id?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Why it was closed. */
    reason?: string;
    /** `INV-*` of the last invoice; null where none is due. */
    final_invoice_id?: string | null;
  };
  /** A service line changed status in a way that has no type of its own, such as resuming. */
  'service_line.status_changed': {
    /** `LIN-*` of the service line. */
    id?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Why it changed. */
    reason?: string;
  };
  /** An invoice moved from draft to open and is now owed. */
  'invoice.finalized': {
    /** `INV-*` of the invoice. */
    id?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** `LIN-*` of the service line concerned. */
    service_line_id?: string;
    /** The number printed on the invoice. */
    number?: string;
    /** Total owed, in minor units of the currency. */
    amount_minor?: number;
    /** ISO 4217 code, such as `EUR`. */
    currency?: string;
    /** When payment is due. */
    due_at?: string;
  };
  /** An open invoice was paid in full. */
  'invoice.paid': {
    /** `INV-*` of the invoice. */
    id?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Amount received, in minor units of the currency. */
    amount_minor?: number;
    /** ISO 4217 code, such as `EUR`. */
    currency?: string;
    /** How it was paid, such as `sepa_debit`. */
    payment_method?: string;
    /** When the payment was received. */
    paid_at?: string;
  };
  /** A payment of an open invoice was tried and did not go through; the invoice stays open. */
  'invoice.payment_failed': {
    /** `INV-*` of the invoice. */
    id?: string;
    /** Amount that was tried, in minor units of the currency. */
    amount_minor?: number;
    /** ISO 4217 code, such as `EUR`. */
    currency?: string;
    /** How payment was tried. */
    payment_method?: string;
    /** The payment provider's reason, for machines. */
    failure_code?: string;
    /** The same reason, for people. */
    failure_reason?: string;
    /** Which try this was, the first being 1. */
    attempt?: number;
    /** When it is tried again; null where it is not. */
    next_attempt_at?: string | null;
  };
  /** An invoice was cancelled and is no longer owed. */
  'invoice.voided': {
    /** `INV-*` of the invoice. */
    id?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Amount no longer owed, in minor units of the currency. */
    amount_minor?: number;
    /** ISO 4217 code, such as `EUR`. */
    currency?: string;
    /** Why it was voided. */
    reason?: string;
  };
  /** An incident was created. */
  'incident.opened': {
    /** `INC-*` of the incident. */
    id: string;
    /** `LIN-*` of the service line hit. */
    service_line_id: string;
    /** `p` and a digit, `p0` being the gravest. */
    severity: string;
    /** What is wrong, in one line. */
    title: string;
  };
  /** The cause of an incident is gone and its effects are repaired. */
  'incident.resolved': {
    /** `INC-*` of the incident. */
    id?: string;
    /** `LIN-*` of the service line concerned. */
    service_line_id?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Severity at the end, such as `p1`. */
    severity?: string;
    /** What ended it. */
    resolution?: string;
    /** From opening to resolution, in milliseconds. */
    duration_ms?: number;
  };
  /** An open incident turned out to be graver or milder than thought. */
  'incident.severity_changed': {
    /** `INC-*` of the incident. */
    id?: string;
    /** `LIN-*` of the service line concerned. */
    service_line_id?: string;
    /** Severity before the change, such as `p2`. */
    previous_severity?: string;
    /** Severity after the change, such as `p1`. */
    new_severity?: string;
    /** Why it was judged anew. */
    reason?: string;
  };
  /** An agent began a run. */
  'agent.run.started': {
    /** `RUN-*` of the run. */
    id?: string;
    /** `AGT-*` of the agent that runs. */
    agent_id?: string;
    /** `LIN-*` of the service line concerned. */
    service_line_id?: string;
    /** The task worked on; null where the run serves none. */
    task_id?: string | null;
    /** What set it off, such as `schedule`. */
    trigger?: string;
  };
  /** A run came to its end and has an outcome. */
  'agent.run.completed': {
    /** `LIN-*` of the service line concerned. */
    service_line_id: string;
    /** How long the run took, in milliseconds. */
    duration_ms: number;
    /** Tokens the run consumed. */
    tokens_used: number;
    /** What came of it, such as `success`. */
    outcome: string;
  };
  /** A run broke off before it had an outcome. */
  'agent.run.failed': {
    /** `RUN-*` of the run. */
    id?: string;
    /** `AGT-*` of the agent that ran. */
    agent_id?: string;
    /** `LIN-*` of the service line concerned. */
    service_line_id?: string;
    /** How long it ran, in milliseconds. */
    duration_ms?: number;
    /** Tokens consumed until then. */
    tokens_used?: number;
    /** What broke it off, for machines. */
    error_code?: string;
    /** What broke it off, for people. */
    error_message?: string;
    /** Whether the same run may succeed when tried again. */
    retryable?: boolean;
  };
  /** An agent did, or tried, something that a policy forbids. */
  'agent.policy_violated': {
    /** `AGT-*` of the agent. */
    id?: string;
    /** `RUN-*` it happened in; null outside any run. */
    run_id?: string | null;
    /** `LIN-*` of the service line concerned. */
    service_line_id?: string;
    /** The policy violated. */
    policy?: string;
    /** What the agent did or tried to do. */
    action?: string;
    /** Whether the action was kept from taking effect. */
    blocked?: boolean;
  };
  /** Somebody was asked to join the organization. */
  'user.invited': {
    /** `USR-*` of the invited user. */
    id?: string;
    /** Address the invitation went to. */
    email?: string;
    /** Role the user will have. */
    role?: string;
    /** `USR-*` of whoever invited. */
    invited_by?: string;
    /** Until when the invitation stands; null for no end. */
    expires_at?: string | null;
  };
  /** A user was given another role. */
  'user.role_changed': {
    /** `USR-*` of the user. */
    id?: string;
    /** Role before the change. */
    previous_role?: string;
    /** Role after the change. */
    new_role?: string;
    /** `USR-*` of whoever changed it. */
    changed_by?: string;
  };
  /** A user lost access to the organization. */
  'user.deactivated': {
    /** `USR-*` of the user. */
    id?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Why access ended. */
    reason?: string;
    /** `USR-*` of whoever ended it. */
    deactivated_by?: string;
  };
  /** An outside system was linked and can be synchronised. */
  'integration.connected': {
    /** Identifier of the integration. */
    id?: string;
    /** The outside system, such as `zendesk`. */
    provider?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** What the platform may do there. */
    scopes?: string[];
  };
  /** Synchronising with an outside system broke off. */
  'integration.sync_failed': {
    /** Identifier of the integration. */
    id?: string;
    /** The outside system. */
    provider?: string;
    /** What broke it off, for machines. */
    error_code?: string;
    /** What broke it off, for people. */
    error_message?: string;
    /** Records that were synchronised before it broke off. */
    records_synced?: number;
    /** End of the latest complete synchronisation; null before the first. */
    last_success_at?: string | null;
    /** When it is tried again; null where it is not. */
    next_attempt_at?: string | null;
  };
  /** The link to an outside system ended. */
  'integration.disconnected': {
    /** Identifier of the integration. */
    id?: string;
    /** The outside system. */
    provider?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Why the link ended. */
    reason?: string;
  };
  /** Work under way cannot go on until something else happens. */
  'execution.blocked': {
    /** Identifier of the execution. */
    id?: string;
    /** `LIN-*` of the service line concerned. */
    service_line_id?: string;
    /** The task carried out; null where there is none. */
    task_id?: string | null;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** What it waits for. */
    reason?: string;
  };
  /** Blocked work goes on. */
  'execution.resumed': {
    /** Identifier of the execution. */
    id?: string;
    /** `LIN-*` of the service line concerned. */
    service_line_id?: string;
    /** The task carried out; null where there is none. */
    task_id?: string | null;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** What removed the block. */
    resolution?: string;
    /** How long it was blocked, in milliseconds. */
    blocked_ms?: number;
  };
  /** Utilisation crossed a threshold. */
  'capacity.utilisation_warning': {
    /** Identifier of the capacity. */
    id?: string;
    /** `LIN-*` of the service line concerned. */
    service_line_id?: string;
    /** Share of the capacity in use, 1 being all of it; more than 1 is overload. */
    utilisation?: number;
    /** The share that was crossed. */
    threshold?: number;
    /** The time over which utilisation was measured, in milliseconds. */
    window_ms?: number;
  };
  /** More work is foreseen than there is capacity for. */
  'capacity.gap_detected': {
    /** Identifier of the capacity. */
    id?: string;
    /** `LIN-*` of the service line concerned. */
    service_line_id?: string;
    /** The skill that runs short. */
    skill?: string;
    /** Hours of work foreseen. */
    required_hours?: number;
    /** Hours at hand. */
    available_hours?: number;
    /** Start of the time it is about. */
    starts_at?: string;
    /** End of the time it is about. */
    ends_at?: string;
  };
  /** A task came into being. */
  'task.created': {
    /** Identifier of the task. */
    id?: string;
    /** What is to be done, in one line. */
    title?: string;
    /** The status it starts in. */
    status?: string;
    /** How urgent it is, such as `high`. */
    priority?: string;
    /** `LIN-*` of the service line concerned. */
    service_line_id?: string;
    /** `USR-*` or `AGT-*` it falls to; null while it falls to nobody. */
    assignee_id?: string | null;
    /** When it should be done; null for no date. */
    due_at?: string | null;
  };
  /** A task moved on, or back. */
  'task.status_changed': {
    /** Identifier of the task. */
    id?: string;
    /** `LIN-*` of the service line concerned. */
    service_line_id?: string;
    /** Status before the change. */
    previous_status?: string;
    /** Status after the change. */
    new_status?: string;
    /** Why it changed. */
    reason?: string;
  };
  /** A task fell to somebody, or to somebody else than before. */
  'task.assigned': {
    /** Identifier of the task. */
    id?: string;
    /** `LIN-*` of the service line concerned. */
    service_line_id?: string;
    /** Kind of the assignee, such as `agent`. */
    assignee_type?: string;
    /** `USR-*` or `AGT-*` it falls to now. */
    assignee_id?: string;
    /** Who had it before; null where nobody had. */
    previous_assignee_id?: string | null;
  };
  /** All five attempts to deliver an event to a webhook failed. */
  'webhook.delivery_failed': {
    /** `WHK-*` of the webhook. */
    webhook_id: string;
    /** `WDLV-*` of the delivery. */
    delivery_id: string;
    /** `EVT-*` of the event that was not delivered. */
    event_id: string;
    /** Type of that event. */
    event_type: string;
    /** Attempts made. */
    attempts: number;
    /** Status of the last attempt; null where none came. */
    http_status: number | null;
    /** Why no status came, such as `timeout`; null where one did. */
    error: string | null;
    /** When the last attempt was made. */
    last_attempt_at: string;
  };
  /** A receiver did not answer the verification request with 200 in time. */
  'webhook.verification_failed': {
    /** `WHK-*` of the webhook. */
    webhook_id: string;
    /** What went wrong, such as `timeout`. */
    reason: string;
    /** Status the receiver answered; null where none came. */
    http_status: number | null;
    /** How long the request took; null where none could be sent. */
    duration_ms: number | null;
  };
  /** A webhook was switched off and receives nothing until it is made active again. */
  'webhook.disabled': {
    /** `WHK-*` of the webhook. */
    webhook_id: string;
    /** The receiver answered 410, failed for days, or somebody decided it. */
    reason: 'gone' | 'failing' | 'manual';
  };
}
