import { distance } from 'fastest-levenshtein';
import Type, { type Static, type TProperties, type TSchema } from 'typebox';

export interface EventType {
  readonly type: string;
  readonly description: string;
  /** The version that introduced the type, or `local` if this installation added it. */
  readonly since: string;
  /** The usual kinds of actor. Other kinds are also accepted. */
  readonly actors: readonly string[];
  /** The kind of resource the event is about. */
  readonly subject: string;
  /** JSON Schema of the payload. Fields it does not name are allowed. */
  readonly schema: TSchema;
  readonly sample: Readonly<Record<string, unknown>>;
}

interface Entry<Schema extends TSchema> extends Omit<EventType, 'type' | 'schema' | 'sample'> {
  readonly schema: Schema;
  readonly sample: Static<Schema>;
}

function entry<Schema extends TSchema>(fields: Entry<Schema>): Entry<Schema> {
  return fields;
}

/**
 * Describes a payload whose fields are all optional, because producers record what they know. A field that is present
 * must have the type given here.
 */
function open<Fields extends TProperties>(fields: Fields) {
  return Type.Partial(Type.Object(fields));
}

const text = (description: string) => Type.String({ description });
const flag = (description: string) => Type.Boolean({ description });
const count = (description: string) => Type.Integer({ minimum: 0, description });
const amount = (description: string) => Type.Number({ minimum: 0, description });
const time = (description: string) => Type.String({ format: 'date-time', description });
const list = (description: string) => Type.Array(Type.String(), { description });
const nullable = <Schema extends TSchema>(schema: Schema, description: string) =>
  Type.Union([schema, Type.Null()], { description });
const nullableText = (description: string) => nullable(Type.String(), description);
const nullableCount = (description: string) => nullable(Type.Integer({ minimum: 0 }), description);
const nullableTime = (description: string) => nullable(Type.String({ format: 'date-time' }), description);

const previousStatus = text('Status before the change.');
const newStatus = text('Status after the change.');
const currency = text('ISO 4217 currency code, such as `EUR`.');
const serviceLineId = text('Service line ID (`LIN-*`).');

const line = 'LIN-01K1R8T3M5Q7V9X2B4D6F8H0JA';
const invoice = 'INV-01K1RB6W8Y0A2C4E6G8J0M2P4R';
const incident = 'INC-01K1RD9Z1B3D5F7H9K1N3Q5S7T';
const agent = 'AGT-01K1Q4C2E4G6J8M0P2R4T6V8X0';
const run = 'RUN-01K1RF2E4G6J8M0P2R4T6V8X0Z';
const user = 'USR-01K1PZ5H7K9N1Q3S5V7X9Z1B3D';
const colleague = 'USR-01K1Q0K9N1Q3S5V7X9Z1B3D5F7';
const integration = 'INT-01K1QGT6V8X0Z2B4D6F8H0K2M4';
const execution = 'EXE-01K1RHQ3S5V7X9Z1B3D5F7H9K1';
const capacity = 'CAP-01K1QM4G6J8M0P2R4T6V8X0Z2B';
const task = 'TSK-01K1RKX9Z1B3D5F7H9K1N3Q5S7';
const webhook = 'WHK-01K1QPB4D6F8H0K2M4P6R8T0V2';

/**
 * The body of a webhook request contains the payload, but not the subject or the actor. Payloads therefore start with
 * the `id` of the subject, as in `incident.opened`. The exceptions are `service_line.activated` and
 * `agent.run.completed`, which do not contain that ID, and `webhook.*`, whose payloads start with `webhook_id`.
 */
const table = {
  'service_line.activated': entry({
    description: 'A service line became active.',
    since: '0.1.0',
    actors: ['user', 'agent', 'system'],
    subject: 'service_line',
    schema: Type.Object({
      previous_status: previousStatus,
      new_status: newStatus,
      execution_model: text('How the work is done, such as `managed`.'),
      product_line: text('Product line of the service.'),
    }),
    sample: {
      previous_status: 'draft',
      new_status: 'active',
      execution_model: 'managed',
      product_line: 'customer_support',
    },
  }),
  'service_line.paused': entry({
    description: 'Work on a service line was paused.',
    since: '0.1.0',
    actors: ['user', 'agent', 'system'],
    subject: 'service_line',
    schema: open({
      id: text('Service line ID (`LIN-*`).'),
      previous_status: previousStatus,
      new_status: newStatus,
      reason: text('Why work was paused.'),
      resume_expected_at: nullableTime('Time when work is expected to resume. Null if unknown.'),
    }),
    sample: {
      id: line,
      previous_status: 'active',
      new_status: 'paused',
      reason: 'The customer asked to pause during stocktaking.',
      resume_expected_at: '2026-08-17T07:00:00.000Z',
    },
  }),
  'service_line.closed': entry({
    description: 'A service line was permanently closed.',
    since: '0.1.0',
    actors: ['user', 'system'],
    subject: 'service_line',
    schema: open({
      id: text('Service line ID (`LIN-*`).'),
      previous_status: previousStatus,
      new_status: newStatus,
      reason: text('Why the service line was closed.'),
      final_invoice_id: nullableText('ID of the final invoice (`INV-*`). Null if there is none.'),
    }),
    sample: {
      id: line,
      previous_status: 'active',
      new_status: 'closed',
      reason: 'The contract ended.',
      final_invoice_id: invoice,
    },
  }),
  'service_line.status_changed': entry({
    description:
      'The status of a service line changed in a way that has no specific event type. For example, work resumed.',
    since: '0.1.0',
    actors: ['user', 'agent', 'system'],
    subject: 'service_line',
    schema: open({
      id: text('Service line ID (`LIN-*`).'),
      previous_status: previousStatus,
      new_status: newStatus,
      reason: text('Why the status changed.'),
    }),
    sample: {
      id: line,
      previous_status: 'paused',
      new_status: 'active',
      reason: 'Stocktaking is over.',
    },
  }),

  'invoice.finalized': entry({
    description: 'An invoice was finalized: it moved from draft to open.',
    since: '0.1.0',
    actors: ['user', 'system'],
    subject: 'invoice',
    schema: open({
      id: text('Invoice ID (`INV-*`).'),
      previous_status: previousStatus,
      new_status: newStatus,
      service_line_id: serviceLineId,
      number: text('Invoice number.'),
      amount_minor: count('Total amount, in minor units of the currency.'),
      currency,
      due_at: time('Due date.'),
    }),
    sample: {
      id: invoice,
      previous_status: 'draft',
      new_status: 'open',
      service_line_id: line,
      number: '2026-000418',
      amount_minor: 1249900,
      currency: 'EUR',
      due_at: '2026-08-31T22:00:00.000Z',
    },
  }),
  'invoice.paid': entry({
    description: 'An open invoice was paid in full.',
    since: '0.1.0',
    actors: ['user', 'system'],
    subject: 'invoice',
    schema: open({
      id: text('Invoice ID (`INV-*`).'),
      previous_status: previousStatus,
      new_status: newStatus,
      amount_minor: count('Amount received, in minor units of the currency.'),
      currency,
      payment_method: text('Payment method, such as `sepa_debit`.'),
      paid_at: time('Time when the payment was received.'),
    }),
    sample: {
      id: invoice,
      previous_status: 'open',
      new_status: 'paid',
      amount_minor: 1249900,
      currency: 'EUR',
      payment_method: 'sepa_debit',
      paid_at: '2026-08-12T09:41:27.318Z',
    },
  }),
  'invoice.payment_failed': entry({
    description: 'A payment for an open invoice failed. The invoice stays open.',
    since: '0.1.0',
    actors: ['system'],
    subject: 'invoice',
    schema: open({
      id: text('Invoice ID (`INV-*`).'),
      amount_minor: count('Amount, in minor units of the currency.'),
      currency,
      payment_method: text('Payment method.'),
      failure_code: text("The payment provider's error code."),
      failure_reason: text('Why the payment failed, for people.'),
      attempt: count('Number of the payment attempt, starting at 1.'),
      next_attempt_at: nullableTime('Time of the next attempt. Null if there is none.'),
    }),
    sample: {
      id: invoice,
      amount_minor: 1249900,
      currency: 'EUR',
      payment_method: 'sepa_debit',
      failure_code: 'insufficient_funds',
      failure_reason: 'The account balance is too low.',
      attempt: 1,
      next_attempt_at: '2026-08-15T06:00:00.000Z',
    },
  }),
  'invoice.voided': entry({
    description: 'An invoice was voided and no longer has to be paid.',
    since: '0.1.0',
    actors: ['user'],
    subject: 'invoice',
    schema: open({
      id: text('Invoice ID (`INV-*`).'),
      previous_status: previousStatus,
      new_status: newStatus,
      amount_minor: count('Amount that no longer has to be paid, in minor units of the currency.'),
      currency,
      reason: text('Why the invoice was voided.'),
    }),
    sample: {
      id: invoice,
      previous_status: 'open',
      new_status: 'voided',
      amount_minor: 1249900,
      currency: 'EUR',
      reason: 'Billed twice for July.',
    },
  }),

  'incident.opened': entry({
    description: 'An incident was opened.',
    since: '0.1.0',
    actors: ['user', 'agent', 'system'],
    subject: 'incident',
    schema: Type.Object({
      id: Type.String({ pattern: '^INC-.', description: 'Incident ID (`INC-*`).' }),
      service_line_id: Type.String({
        pattern: '^LIN-.',
        description: 'ID of the affected service line (`LIN-*`).',
      }),
      severity: Type.String({ pattern: '^p\\d$', description: 'Severity, from `p0` (most severe) to `p9`.' }),
      title: text('Short description of the incident.'),
    }),
    sample: {
      id: incident,
      service_line_id: line,
      severity: 'p1',
      title: 'Order confirmations are sent an hour late',
    },
  }),
  'incident.resolved': entry({
    description: 'An incident was resolved.',
    since: '0.1.0',
    actors: ['user', 'agent', 'system'],
    subject: 'incident',
    schema: open({
      id: text('Incident ID (`INC-*`).'),
      service_line_id: serviceLineId,
      previous_status: previousStatus,
      new_status: newStatus,
      severity: text('Final severity, such as `p1`.'),
      resolution: text('How the incident was resolved.'),
      duration_ms: count('Time from opening to resolution, in milliseconds.'),
    }),
    sample: {
      id: incident,
      service_line_id: line,
      previous_status: 'open',
      new_status: 'resolved',
      severity: 'p1',
      resolution: 'The stuck mail queue was restarted and has caught up.',
      duration_ms: 4380000,
    },
  }),
  'incident.severity_changed': entry({
    description: 'The severity of an open incident changed.',
    since: '0.1.0',
    actors: ['user', 'agent', 'system'],
    subject: 'incident',
    schema: open({
      id: text('Incident ID (`INC-*`).'),
      service_line_id: serviceLineId,
      previous_severity: text('Severity before the change, such as `p2`.'),
      new_severity: text('Severity after the change, such as `p1`.'),
      reason: text('Why the severity changed.'),
    }),
    sample: {
      id: incident,
      service_line_id: line,
      previous_severity: 'p2',
      new_severity: 'p1',
      reason: 'A second region is affected.',
    },
  }),

  'agent.run.started': entry({
    description: 'An agent started a run.',
    since: '0.1.0',
    actors: ['agent', 'user', 'system'],
    subject: 'run',
    schema: open({
      id: text('Run ID (`RUN-*`).'),
      agent_id: text('Agent ID (`AGT-*`).'),
      service_line_id: serviceLineId,
      task_id: nullableText('Task ID. Null if the run does not belong to a task.'),
      trigger: text('What started the run, such as `schedule`.'),
    }),
    sample: {
      id: run,
      agent_id: agent,
      service_line_id: line,
      task_id: task,
      trigger: 'task_assigned',
    },
  }),
  'agent.run.completed': entry({
    description: 'A run completed.',
    since: '0.1.0',
    actors: ['agent'],
    subject: 'run',
    schema: Type.Object({
      service_line_id: serviceLineId,
      duration_ms: count('Duration in milliseconds.'),
      tokens_used: count('Number of tokens used.'),
      outcome: text('Outcome, such as `success`.'),
    }),
    sample: {
      service_line_id: line,
      duration_ms: 48210,
      tokens_used: 18734,
      outcome: 'success',
    },
  }),
  'agent.run.failed': entry({
    description: 'A run failed before it completed.',
    since: '0.1.0',
    actors: ['agent', 'system'],
    subject: 'run',
    schema: open({
      id: text('Run ID (`RUN-*`).'),
      agent_id: text('Agent ID (`AGT-*`).'),
      service_line_id: serviceLineId,
      duration_ms: count('Duration in milliseconds.'),
      tokens_used: count('Number of tokens used.'),
      error_code: text('Error code.'),
      error_message: text('Error message.'),
      retryable: flag('Whether a retry can succeed.'),
    }),
    sample: {
      id: run,
      agent_id: agent,
      service_line_id: line,
      duration_ms: 120000,
      tokens_used: 9120,
      error_code: 'tool_timeout',
      error_message: 'The ticket system did not respond within 120 s.',
      retryable: true,
    },
  }),
  'agent.policy_violated': entry({
    description: 'An agent did, or tried to do, something that a policy forbids.',
    since: '0.1.0',
    actors: ['agent', 'system'],
    subject: 'agent',
    schema: open({
      id: text('Agent ID (`AGT-*`).'),
      run_id: nullableText('Run ID (`RUN-*`). Null if the violation happened outside a run.'),
      service_line_id: serviceLineId,
      policy: text('Policy that was violated.'),
      action: text('What the agent did or tried to do.'),
      blocked: flag('Whether the action was blocked.'),
    }),
    sample: {
      id: agent,
      run_id: run,
      service_line_id: line,
      policy: 'refund_limit',
      action: 'Refund of EUR 640.00 without approval.',
      blocked: true,
    },
  }),

  'user.invited': entry({
    description: 'A user was invited to the organization.',
    since: '0.1.0',
    actors: ['user', 'system'],
    subject: 'user',
    schema: open({
      id: text('User ID (`USR-*`).'),
      email: text('Email address that the invitation was sent to.'),
      role: text("The user's role."),
      invited_by: text('ID of the user who sent the invitation (`USR-*`).'),
      expires_at: nullableTime('Time when the invitation expires. Null if it does not expire.'),
    }),
    sample: {
      id: user,
      email: 'mira.oyelaran@example.com',
      role: 'operator',
      invited_by: colleague,
      expires_at: '2026-08-19T08:15:00.000Z',
    },
  }),
  'user.role_changed': entry({
    description: "A user's role changed.",
    since: '0.1.0',
    actors: ['user', 'system'],
    subject: 'user',
    schema: open({
      id: text('User ID (`USR-*`).'),
      previous_role: text('Role before the change.'),
      new_role: text('Role after the change.'),
      changed_by: text('ID of the user who changed the role (`USR-*`).'),
    }),
    sample: {
      id: user,
      previous_role: 'operator',
      new_role: 'admin',
      changed_by: colleague,
    },
  }),
  'user.deactivated': entry({
    description: 'A user was deactivated and no longer has access to the organization.',
    since: '0.1.0',
    actors: ['user', 'system'],
    subject: 'user',
    schema: open({
      id: text('User ID (`USR-*`).'),
      previous_status: previousStatus,
      new_status: newStatus,
      reason: text('Why the user was deactivated.'),
      deactivated_by: text('ID of the user who deactivated this user (`USR-*`).'),
    }),
    sample: {
      id: user,
      previous_status: 'active',
      new_status: 'deactivated',
      reason: 'Left the company.',
      deactivated_by: colleague,
    },
  }),

  'integration.connected': entry({
    description: 'An external system was connected.',
    since: '0.1.0',
    actors: ['user', 'system'],
    subject: 'integration',
    schema: open({
      id: text('Integration ID.'),
      provider: text('External system, such as `zendesk`.'),
      previous_status: previousStatus,
      new_status: newStatus,
      scopes: list('Permissions that the platform has in the external system.'),
    }),
    sample: {
      id: integration,
      provider: 'zendesk',
      previous_status: 'pending',
      new_status: 'connected',
      scopes: ['tickets:read', 'tickets:write'],
    },
  }),
  'integration.sync_failed': entry({
    description: 'Synchronization with an external system failed.',
    since: '0.1.0',
    actors: ['system'],
    subject: 'integration',
    schema: open({
      id: text('Integration ID.'),
      provider: text('External system.'),
      error_code: text('Error code.'),
      error_message: text('Error message.'),
      records_synced: count('Number of records that were synchronized before the failure.'),
      last_success_at: nullableTime(
        'Time when the latest complete synchronization ended. Null before the first one.',
      ),
      next_attempt_at: nullableTime('Time of the next attempt. Null if there is none.'),
    }),
    sample: {
      id: integration,
      provider: 'zendesk',
      error_code: 'rate_limited',
      error_message: 'The provider refused further requests for 15 minutes.',
      records_synced: 312,
      last_success_at: '2026-08-12T05:00:41.902Z',
      next_attempt_at: '2026-08-12T06:15:00.000Z',
    },
  }),
  'integration.disconnected': entry({
    description: 'An external system was disconnected.',
    since: '0.1.0',
    actors: ['user', 'system'],
    subject: 'integration',
    schema: open({
      id: text('Integration ID.'),
      provider: text('External system.'),
      previous_status: previousStatus,
      new_status: newStatus,
      reason: text('Why the system was disconnected.'),
    }),
    sample: {
      id: integration,
      provider: 'zendesk',
      previous_status: 'connected',
      new_status: 'disconnected',
      reason: 'Access was revoked at the provider.',
    },
  }),

  'execution.blocked': entry({
    description: 'Work in progress was blocked.',
    since: '0.1.0',
    actors: ['agent', 'user', 'system'],
    subject: 'execution',
    schema: open({
      id: text('Execution ID.'),
      service_line_id: serviceLineId,
      task_id: nullableText('Task ID. Null if there is none.'),
      previous_status: previousStatus,
      new_status: newStatus,
      reason: text('Why the work is blocked.'),
    }),
    sample: {
      id: execution,
      service_line_id: line,
      task_id: task,
      previous_status: 'running',
      new_status: 'blocked',
      reason: 'The refund has not been approved yet.',
    },
  }),
  'execution.resumed': entry({
    description: 'Blocked work resumed.',
    since: '0.1.0',
    actors: ['agent', 'user', 'system'],
    subject: 'execution',
    schema: open({
      id: text('Execution ID.'),
      service_line_id: serviceLineId,
      task_id: nullableText('Task ID. Null if there is none.'),
      previous_status: previousStatus,
      new_status: newStatus,
      resolution: text('Why the work could resume.'),
      blocked_ms: count('How long the work was blocked, in milliseconds.'),
    }),
    sample: {
      id: execution,
      service_line_id: line,
      task_id: task,
      previous_status: 'blocked',
      new_status: 'running',
      resolution: 'The refund was approved.',
      blocked_ms: 1542000,
    },
  }),

  'capacity.utilisation_warning': entry({
    description: 'Utilization crossed a threshold.',
    since: '0.1.0',
    actors: ['system'],
    subject: 'capacity',
    schema: open({
      id: text('Capacity ID.'),
      service_line_id: serviceLineId,
      utilisation: amount(
        'Fraction of the capacity in use. 1 means fully used, and more than 1 means overloaded.',
      ),
      threshold: amount('Threshold that was crossed.'),
      window_ms: count('Length of the measurement period in milliseconds.'),
    }),
    sample: {
      id: capacity,
      service_line_id: line,
      utilisation: 0.93,
      threshold: 0.9,
      window_ms: 3600000,
    },
  }),
  'capacity.gap_detected': entry({
    description: 'The planned work exceeds the capacity.',
    since: '0.1.0',
    actors: ['system', 'agent'],
    subject: 'capacity',
    schema: open({
      id: text('Capacity ID.'),
      service_line_id: serviceLineId,
      skill: text('Skill that the work requires.'),
      required_hours: amount('Planned hours of work.'),
      available_hours: amount('Available hours of work.'),
      starts_at: time('Start of the period.'),
      ends_at: time('End of the period.'),
    }),
    sample: {
      id: capacity,
      service_line_id: line,
      skill: 'second_level_support',
      required_hours: 184,
      available_hours: 152.5,
      starts_at: '2026-08-17T00:00:00.000Z',
      ends_at: '2026-08-24T00:00:00.000Z',
    },
  }),

  'task.created': entry({
    description: 'A task was created.',
    since: '0.1.0',
    actors: ['user', 'agent', 'system'],
    subject: 'task',
    schema: open({
      id: text('Task ID.'),
      title: text('Short description of the task.'),
      status: text('Initial status.'),
      priority: text('Priority, such as `high`.'),
      service_line_id: serviceLineId,
      assignee_id: nullableText('ID of the assignee (`USR-*` or `AGT-*`). Null if there is none.'),
      due_at: nullableTime('Due date. Null if there is none.'),
    }),
    sample: {
      id: task,
      title: 'Answer the complaint about order 88213',
      status: 'open',
      priority: 'high',
      service_line_id: line,
      assignee_id: null,
      due_at: '2026-08-13T16:00:00.000Z',
    },
  }),
  'task.status_changed': entry({
    description: 'The status of a task changed.',
    since: '0.1.0',
    actors: ['user', 'agent', 'system'],
    subject: 'task',
    schema: open({
      id: text('Task ID.'),
      service_line_id: serviceLineId,
      previous_status: previousStatus,
      new_status: newStatus,
      reason: text('Why the status changed.'),
    }),
    sample: {
      id: task,
      service_line_id: line,
      previous_status: 'in_progress',
      new_status: 'done',
      reason: 'The customer confirmed.',
    },
  }),
  'task.assigned': entry({
    description: 'A task was assigned to a user or an agent.',
    since: '0.1.0',
    actors: ['user', 'agent', 'system'],
    subject: 'task',
    schema: open({
      id: text('Task ID.'),
      service_line_id: serviceLineId,
      assignee_type: text('Type of the assignee, such as `agent`.'),
      assignee_id: text('ID of the assignee (`USR-*` or `AGT-*`).'),
      previous_assignee_id: nullableText('ID of the previous assignee. Null if there was none.'),
    }),
    sample: {
      id: task,
      service_line_id: line,
      assignee_type: 'agent',
      assignee_id: agent,
      previous_assignee_id: null,
    },
  }),

  'webhook.delivery_failed': entry({
    description: 'All attempts to deliver an event to a webhook failed.',
    since: '0.1.0',
    actors: ['system'],
    subject: 'webhook',
    schema: Type.Object({
      webhook_id: text('Webhook ID (`WHK-*`).'),
      delivery_id: text('Delivery ID (`WDLV-*`).'),
      event_id: text('ID of the event that was not delivered (`EVT-*`).'),
      event_type: text('Type of that event.'),
      attempts: count('Number of attempts.'),
      http_status: nullableCount('HTTP status of the last attempt. Null if no response arrived.'),
      error: nullableText('Why no response arrived, such as `timeout`. Null if a response arrived.'),
      last_attempt_at: time('Time of the last attempt.'),
    }),
    sample: {
      webhook_id: webhook,
      delivery_id: 'WDLV-01K1RMS5V7X9Z1B3D5F7H9K1N3',
      event_id: 'EVT-01K1RMR3S5V7X9Z1B3D5F7H9K1',
      event_type: 'invoice.paid',
      attempts: 5,
      http_status: 503,
      error: null,
      last_attempt_at: '2026-08-12T12:17:42.118Z',
    },
  }),
  'webhook.verification_failed': entry({
    description: 'A receiver did not respond to the verification request with 200 in time.',
    since: '0.1.0',
    actors: ['system'],
    subject: 'webhook',
    schema: Type.Object({
      webhook_id: text('Webhook ID (`WHK-*`).'),
      reason: text('Reason, such as `timeout`.'),
      http_status: nullableCount('HTTP status that the receiver returned. Null if no response arrived.'),
      duration_ms: count('Duration of the verification in milliseconds.'),
    }),
    sample: {
      webhook_id: webhook,
      reason: 'timeout',
      http_status: null,
      duration_ms: 5000,
    },
  }),
  'webhook.disabled': entry({
    description: 'A webhook was disabled. It receives no events until it is activated again.',
    since: '0.1.0',
    actors: ['system', 'user'],
    subject: 'webhook',
    schema: Type.Object({
      webhook_id: text('Webhook ID (`WHK-*`).'),
      reason: Type.Enum(['gone', 'failing', 'manual'], {
        description:
          '`gone`: the receiver returned 410. `failing`: every attempt failed for 5 days. `manual`: a request disabled the webhook.',
      }),
    }),
    sample: { webhook_id: webhook, reason: 'gone' },
  }),
};

export type EventTypeName = keyof typeof table;

export type PayloadOf<T extends EventTypeName> = Static<(typeof table)[T]['schema']>;

interface TypedEvent<T extends string, Payload> {
  readonly id: string;
  readonly type: T;
  readonly organization_id: string;
  readonly workspace_id: string | null;
  readonly actor: { readonly type: string; readonly id: string };
  readonly subject: { readonly type: string; readonly id: string };
  readonly payload: Payload;
  readonly created_at: string;
}

/** An event of a known type. For several types, a union that narrows on `type`. */
export type EventOf<T extends EventTypeName> = { [Name in T]: TypedEvent<Name, PayloadOf<Name>> }[T];

/** A type that an installation adds to the catalogue. */
export interface AddedEventType {
  readonly type: string;
  readonly description: string;
  readonly schema: TSchema;
  readonly sample: Readonly<Record<string, unknown>>;
}

export interface Catalogue {
  get(type: string): EventType | undefined;
  /** Returns the built-in types in the order of the table, then the added types. */
  list(): readonly EventType[];
  /** Returns the first segment of every type, without duplicates. */
  domains(): readonly string[];
  /** Returns the known type with the most similar name, however different it is. */
  nearest(name: string): NearestType;
  /** Returns the domain that the name is probably a misspelling of. */
  similarDomain(name: string): string | undefined;
}

interface NearestType {
  readonly type: string;
  /** Whether the name is probably a misspelling of this type. */
  readonly isSimilar: boolean;
}

/** Reports an added type that the catalogue cannot accept. */
export class CatalogueError extends Error {
  override readonly name = 'CatalogueError';
}

const typeName = /^[a-z][a-z0-9_]{0,63}(\.[a-z][a-z0-9_]{0,63}){1,2}$/;

/** Creates the catalogue. Throws a `CatalogueError` if the name of an added type is invalid or already taken. */
export function createCatalogue(addedTypes: readonly AddedEventType[] = []): Catalogue {
  const types = new Map<string, EventType>(
    Object.entries(table).map(([type, fields]) => [type, { type, ...fields }]),
  );
  for (const { type, description, schema, sample } of addedTypes) {
    refuseMisnamed(type, types);
    const domain = domainOf(type);
    types.set(type, { type, description, since: 'local', actors: [], subject: domain, schema, sample });
  }
  const all = [...types.values()];
  const domains = [...new Set(all.map(({ type }) => domainOf(type)))];
  return {
    get: (type) => types.get(type),
    list: () => all,
    domains: () => domains,
    nearest: (name) => nearestOf(types.keys(), name),
    similarDomain: (name) => {
      const nearest = nearestOf([...types.keys()].map(domainOf), name);
      return nearest.isSimilar ? nearest.type : undefined;
    },
  };
}

function domainOf(type: string): string {
  return type.slice(0, type.indexOf('.'));
}

function refuseMisnamed(type: string, taken: ReadonlyMap<string, EventType>): void {
  if (!typeName.test(type)) {
    throw new CatalogueError(
      `event type ${JSON.stringify(type)} is not a valid name: expected two or three segments of a-z, ` +
        '0-9 and _, separated by dots, each starting with a letter',
    );
  }
  if (type.startsWith('webhook.')) {
    throw new CatalogueError(`event type "${type}" cannot be added: webhook.* is reserved for the service`);
  }
  if (taken.has(type)) {
    throw new CatalogueError(`event type "${type}" cannot be added: the catalogue already has it`);
  }
}

/** The most edits, as a fraction of the longer name's length, between a type and a misspelling of it. */
const misspelledPart = 1 / 4;

/** Returns the type that is the fewest edits away from `name`, however many. */
function nearestOf(types: Iterable<string>, name: string): NearestType {
  // Computing the distance takes longer for long names, and no type is longer than this.
  const wanted = name.slice(0, 200).toLowerCase();
  let nearest = '';
  let fewest = Number.POSITIVE_INFINITY;
  for (const type of types) {
    const edits = distance(wanted, type);
    if (edits < fewest) {
      nearest = type;
      fewest = edits;
    }
  }
  const length = Math.max(wanted.length, nearest.length);
  return { type: nearest, isSimilar: fewest <= length * misspelledPart };
}
