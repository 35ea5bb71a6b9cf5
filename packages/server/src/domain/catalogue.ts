import { distance } from 'fastest-levenshtein';
import Type, { type Static, type TProperties, type TSchema } from 'typebox';
import type { NewEvent } from './event.js';

export interface EventType {
  readonly type: string;
  readonly description: string;
  /** The version that first recorded the type; `local` for one that this installation added. */
  readonly since: string;
  /** Kinds of actor to expect; others are not refused. */
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
 * The payloads nobody has fixed. Producers outside record what they know, so nothing is required; what
 * they do give has the type told here.
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
const currency = text('ISO 4217 code, such as `EUR`.');
const serviceLineId = text('`LIN-*` of the service line concerned.');

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
 * A delivery carries neither subject nor actor, only the payload. So the payloads that are ours to shape
 * begin with the subject's own `id`, as that of `incident.opened` does.
 */
const table = {
  'service_line.activated': entry({
    description: 'A service line moved to active status.',
    since: '0.1.0',
    actors: ['user', 'agent', 'system'],
    subject: 'service_line',
    schema: Type.Object({
      previous_status: previousStatus,
      new_status: newStatus,
      execution_model: text('How the work of the line is carried out, such as `managed`.'),
      product_line: text('The product line it is sold under.'),
    }),
    sample: {
      previous_status: 'draft',
      new_status: 'active',
      execution_model: 'managed',
      product_line: 'customer_support',
    },
  }),
  'service_line.paused': entry({
    description: 'Work on a service line stopped for the time being.',
    since: '0.1.0',
    actors: ['user', 'agent', 'system'],
    subject: 'service_line',
    schema: open({
      id: text('`LIN-*` of the service line.'),
      previous_status: previousStatus,
      new_status: newStatus,
      reason: text('Why it was paused.'),
      resume_expected_at: nullableTime('When work is expected to go on; null where nobody knows.'),
    }),
    sample: {
      id: line,
      previous_status: 'active',
      new_status: 'paused',
      reason: 'Customer asked for a stop during their stocktaking.',
      resume_expected_at: '2026-08-17T07:00:00.000Z',
    },
  }),
  'service_line.closed': entry({
    description: 'A service line ended for good.',
    since: '0.1.0',
    actors: ['user', 'system'],
    subject: 'service_line',
    schema: open({
      id: text('`LIN-*` of the service line.'),
      previous_status: previousStatus,
      new_status: newStatus,
      reason: text('Why it was closed.'),
      final_invoice_id: nullableText('`INV-*` of the last invoice; null where none is due.'),
    }),
    sample: {
      id: line,
      previous_status: 'active',
      new_status: 'closed',
      reason: 'Contract ran out.',
      final_invoice_id: invoice,
    },
  }),
  'service_line.status_changed': entry({
    description: 'A service line changed status in a way that has no type of its own, such as resuming.',
    since: '0.1.0',
    actors: ['user', 'agent', 'system'],
    subject: 'service_line',
    schema: open({
      id: text('`LIN-*` of the service line.'),
      previous_status: previousStatus,
      new_status: newStatus,
      reason: text('Why it changed.'),
    }),
    sample: {
      id: line,
      previous_status: 'paused',
      new_status: 'active',
      reason: 'Stocktaking is over.',
    },
  }),

  'invoice.finalized': entry({
    description: 'An invoice moved from draft to open and is now owed.',
    since: '0.1.0',
    actors: ['user', 'system'],
    subject: 'invoice',
    schema: open({
      id: text('`INV-*` of the invoice.'),
      previous_status: previousStatus,
      new_status: newStatus,
      service_line_id: serviceLineId,
      number: text('The number printed on the invoice.'),
      amount_minor: count('Total owed, in minor units of the currency.'),
      currency,
      due_at: time('When payment is due.'),
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
      id: text('`INV-*` of the invoice.'),
      previous_status: previousStatus,
      new_status: newStatus,
      amount_minor: count('Amount received, in minor units of the currency.'),
      currency,
      payment_method: text('How it was paid, such as `sepa_debit`.'),
      paid_at: time('When the payment was received.'),
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
    description: 'A payment of an open invoice was tried and did not go through; the invoice stays open.',
    since: '0.1.0',
    actors: ['system'],
    subject: 'invoice',
    schema: open({
      id: text('`INV-*` of the invoice.'),
      amount_minor: count('Amount that was tried, in minor units of the currency.'),
      currency,
      payment_method: text('How payment was tried.'),
      failure_code: text("The payment provider's reason, for machines."),
      failure_reason: text('The same reason, for people.'),
      attempt: count('Which try this was, the first being 1.'),
      next_attempt_at: nullableTime('When it is tried again; null where it is not.'),
    }),
    sample: {
      id: invoice,
      amount_minor: 1249900,
      currency: 'EUR',
      payment_method: 'sepa_debit',
      failure_code: 'insufficient_funds',
      failure_reason: 'The account does not cover the amount.',
      attempt: 1,
      next_attempt_at: '2026-08-15T06:00:00.000Z',
    },
  }),
  'invoice.voided': entry({
    description: 'An invoice was cancelled and is no longer owed.',
    since: '0.1.0',
    actors: ['user'],
    subject: 'invoice',
    schema: open({
      id: text('`INV-*` of the invoice.'),
      previous_status: previousStatus,
      new_status: newStatus,
      amount_minor: count('Amount no longer owed, in minor units of the currency.'),
      currency,
      reason: text('Why it was voided.'),
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
    description: 'An incident was created.',
    since: '0.1.0',
    actors: ['user', 'agent', 'system'],
    subject: 'incident',
    schema: Type.Object({
      id: Type.String({ pattern: '^INC-.', description: '`INC-*` of the incident.' }),
      service_line_id: Type.String({ pattern: '^LIN-.', description: '`LIN-*` of the service line hit.' }),
      severity: Type.String({ pattern: '^p\\d$', description: '`p` and a digit, `p0` being the gravest.' }),
      title: text('What is wrong, in one line.'),
    }),
    sample: {
      id: incident,
      service_line_id: line,
      severity: 'p1',
      title: 'Order confirmations are sent an hour late',
    },
  }),
  'incident.resolved': entry({
    description: 'The cause of an incident is gone and its effects are repaired.',
    since: '0.1.0',
    actors: ['user', 'agent', 'system'],
    subject: 'incident',
    schema: open({
      id: text('`INC-*` of the incident.'),
      service_line_id: serviceLineId,
      previous_status: previousStatus,
      new_status: newStatus,
      severity: text('Severity at the end, such as `p1`.'),
      resolution: text('What ended it.'),
      duration_ms: count('From opening to resolution, in milliseconds.'),
    }),
    sample: {
      id: incident,
      service_line_id: line,
      previous_status: 'open',
      new_status: 'resolved',
      severity: 'p1',
      resolution: 'The stuck mail queue was restarted and worked off.',
      duration_ms: 4380000,
    },
  }),
  'incident.severity_changed': entry({
    description: 'An open incident turned out to be graver or milder than thought.',
    since: '0.1.0',
    actors: ['user', 'agent', 'system'],
    subject: 'incident',
    schema: open({
      id: text('`INC-*` of the incident.'),
      service_line_id: serviceLineId,
      previous_severity: text('Severity before the change, such as `p2`.'),
      new_severity: text('Severity after the change, such as `p1`.'),
      reason: text('Why it was judged anew.'),
    }),
    sample: {
      id: incident,
      service_line_id: line,
      previous_severity: 'p2',
      new_severity: 'p1',
      reason: 'A second region is hit.',
    },
  }),

  'agent.run.started': entry({
    description: 'An agent began a run.',
    since: '0.1.0',
    actors: ['agent', 'user', 'system'],
    subject: 'run',
    schema: open({
      id: text('`RUN-*` of the run.'),
      agent_id: text('`AGT-*` of the agent that runs.'),
      service_line_id: serviceLineId,
      task_id: nullableText('The task worked on; null where the run serves none.'),
      trigger: text('What set it off, such as `schedule`.'),
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
    description: 'A run came to its end and has an outcome.',
    since: '0.1.0',
    actors: ['agent'],
    subject: 'run',
    schema: Type.Object({
      service_line_id: serviceLineId,
      duration_ms: count('How long the run took, in milliseconds.'),
      tokens_used: count('Tokens the run consumed.'),
      outcome: text('What came of it, such as `success`.'),
    }),
    sample: {
      service_line_id: line,
      duration_ms: 48210,
      tokens_used: 18734,
      outcome: 'success',
    },
  }),
  'agent.run.failed': entry({
    description: 'A run broke off before it had an outcome.',
    since: '0.1.0',
    actors: ['agent', 'system'],
    subject: 'run',
    schema: open({
      id: text('`RUN-*` of the run.'),
      agent_id: text('`AGT-*` of the agent that ran.'),
      service_line_id: serviceLineId,
      duration_ms: count('How long it ran, in milliseconds.'),
      tokens_used: count('Tokens consumed until then.'),
      error_code: text('What broke it off, for machines.'),
      error_message: text('What broke it off, for people.'),
      retryable: flag('Whether the same run may succeed when tried again.'),
    }),
    sample: {
      id: run,
      agent_id: agent,
      service_line_id: line,
      duration_ms: 120000,
      tokens_used: 9120,
      error_code: 'tool_timeout',
      error_message: 'The ticket system did not answer within 120 s.',
      retryable: true,
    },
  }),
  'agent.policy_violated': entry({
    description: 'An agent did, or tried, something that a policy forbids.',
    since: '0.1.0',
    actors: ['agent', 'system'],
    subject: 'agent',
    schema: open({
      id: text('`AGT-*` of the agent.'),
      run_id: nullableText('`RUN-*` it happened in; null outside any run.'),
      service_line_id: serviceLineId,
      policy: text('The policy violated.'),
      action: text('What the agent did or tried to do.'),
      blocked: flag('Whether the action was kept from taking effect.'),
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
    description: 'Somebody was asked to join the organization.',
    since: '0.1.0',
    actors: ['user', 'system'],
    subject: 'user',
    schema: open({
      id: text('`USR-*` of the invited user.'),
      email: text('Address the invitation went to.'),
      role: text('Role the user will have.'),
      invited_by: text('`USR-*` of whoever invited.'),
      expires_at: nullableTime('Until when the invitation stands; null for no end.'),
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
    description: 'A user was given another role.',
    since: '0.1.0',
    actors: ['user', 'system'],
    subject: 'user',
    schema: open({
      id: text('`USR-*` of the user.'),
      previous_role: text('Role before the change.'),
      new_role: text('Role after the change.'),
      changed_by: text('`USR-*` of whoever changed it.'),
    }),
    sample: {
      id: user,
      previous_role: 'operator',
      new_role: 'admin',
      changed_by: colleague,
    },
  }),
  'user.deactivated': entry({
    description: 'A user lost access to the organization.',
    since: '0.1.0',
    actors: ['user', 'system'],
    subject: 'user',
    schema: open({
      id: text('`USR-*` of the user.'),
      previous_status: previousStatus,
      new_status: newStatus,
      reason: text('Why access ended.'),
      deactivated_by: text('`USR-*` of whoever ended it.'),
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
    description: 'An outside system was linked and can be synchronised.',
    since: '0.1.0',
    actors: ['user', 'system'],
    subject: 'integration',
    schema: open({
      id: text('Identifier of the integration.'),
      provider: text('The outside system, such as `zendesk`.'),
      previous_status: previousStatus,
      new_status: newStatus,
      scopes: list('What the platform may do there.'),
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
    description: 'Synchronising with an outside system broke off.',
    since: '0.1.0',
    actors: ['system'],
    subject: 'integration',
    schema: open({
      id: text('Identifier of the integration.'),
      provider: text('The outside system.'),
      error_code: text('What broke it off, for machines.'),
      error_message: text('What broke it off, for people.'),
      records_synced: count('Records that were synchronised before it broke off.'),
      last_success_at: nullableTime('End of the latest complete synchronisation; null before the first.'),
      next_attempt_at: nullableTime('When it is tried again; null where it is not.'),
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
    description: 'The link to an outside system ended.',
    since: '0.1.0',
    actors: ['user', 'system'],
    subject: 'integration',
    schema: open({
      id: text('Identifier of the integration.'),
      provider: text('The outside system.'),
      previous_status: previousStatus,
      new_status: newStatus,
      reason: text('Why the link ended.'),
    }),
    sample: {
      id: integration,
      provider: 'zendesk',
      previous_status: 'connected',
      new_status: 'disconnected',
      reason: 'Access was withdrawn at the provider.',
    },
  }),

  'execution.blocked': entry({
    description: 'Work under way cannot go on until something else happens.',
    since: '0.1.0',
    actors: ['agent', 'user', 'system'],
    subject: 'execution',
    schema: open({
      id: text('Identifier of the execution.'),
      service_line_id: serviceLineId,
      task_id: nullableText('The task carried out; null where there is none.'),
      previous_status: previousStatus,
      new_status: newStatus,
      reason: text('What it waits for.'),
    }),
    sample: {
      id: execution,
      service_line_id: line,
      task_id: task,
      previous_status: 'running',
      new_status: 'blocked',
      reason: 'Approval of the refund is missing.',
    },
  }),
  'execution.resumed': entry({
    description: 'Blocked work goes on.',
    since: '0.1.0',
    actors: ['agent', 'user', 'system'],
    subject: 'execution',
    schema: open({
      id: text('Identifier of the execution.'),
      service_line_id: serviceLineId,
      task_id: nullableText('The task carried out; null where there is none.'),
      previous_status: previousStatus,
      new_status: newStatus,
      resolution: text('What removed the block.'),
      blocked_ms: count('How long it was blocked, in milliseconds.'),
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
    description: 'Utilisation crossed a threshold.',
    since: '0.1.0',
    actors: ['system'],
    subject: 'capacity',
    schema: open({
      id: text('Identifier of the capacity.'),
      service_line_id: serviceLineId,
      utilisation: amount('Share of the capacity in use, 1 being all of it; more than 1 is overload.'),
      threshold: amount('The share that was crossed.'),
      window_ms: count('The time over which utilisation was measured, in milliseconds.'),
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
    description: 'More work is foreseen than there is capacity for.',
    since: '0.1.0',
    actors: ['system', 'agent'],
    subject: 'capacity',
    schema: open({
      id: text('Identifier of the capacity.'),
      service_line_id: serviceLineId,
      skill: text('The skill that runs short.'),
      required_hours: amount('Hours of work foreseen.'),
      available_hours: amount('Hours at hand.'),
      starts_at: time('Start of the time it is about.'),
      ends_at: time('End of the time it is about.'),
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
    description: 'A task came into being.',
    since: '0.1.0',
    actors: ['user', 'agent', 'system'],
    subject: 'task',
    schema: open({
      id: text('Identifier of the task.'),
      title: text('What is to be done, in one line.'),
      status: text('The status it starts in.'),
      priority: text('How urgent it is, such as `high`.'),
      service_line_id: serviceLineId,
      assignee_id: nullableText('`USR-*` or `AGT-*` it falls to; null while it falls to nobody.'),
      due_at: nullableTime('When it should be done; null for no date.'),
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
    description: 'A task moved on, or back.',
    since: '0.1.0',
    actors: ['user', 'agent', 'system'],
    subject: 'task',
    schema: open({
      id: text('Identifier of the task.'),
      service_line_id: serviceLineId,
      previous_status: previousStatus,
      new_status: newStatus,
      reason: text('Why it changed.'),
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
    description: 'A task fell to somebody, or to somebody else than before.',
    since: '0.1.0',
    actors: ['user', 'agent', 'system'],
    subject: 'task',
    schema: open({
      id: text('Identifier of the task.'),
      service_line_id: serviceLineId,
      assignee_type: text('Kind of the assignee, such as `agent`.'),
      assignee_id: text('`USR-*` or `AGT-*` it falls to now.'),
      previous_assignee_id: nullableText('Who had it before; null where nobody had.'),
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
    description: 'All five attempts to deliver an event to a webhook failed.',
    since: '0.1.0',
    actors: ['system'],
    subject: 'webhook',
    schema: Type.Object({
      webhook_id: text('`WHK-*` of the webhook.'),
      delivery_id: text('`WDLV-*` of the delivery.'),
      event_id: text('`EVT-*` of the event that was not delivered.'),
      event_type: text('Type of that event.'),
      attempts: count('Attempts made.'),
      http_status: nullableCount('Status of the last attempt; null where none came.'),
      error: nullableText('Why no status came, such as `timeout`; null where one did.'),
      last_attempt_at: time('When the last attempt was made.'),
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
    description: 'A receiver did not answer the verification request with 200 in time.',
    since: '0.1.0',
    actors: ['system'],
    subject: 'webhook',
    schema: Type.Object({
      webhook_id: text('`WHK-*` of the webhook.'),
      reason: text('What went wrong, such as `timeout`.'),
      http_status: nullableCount('Status the receiver answered; null where none came.'),
      duration_ms: nullableCount('How long the request took; null where none could be sent.'),
    }),
    sample: {
      webhook_id: webhook,
      reason: 'timeout',
      http_status: null,
      duration_ms: 5000,
    },
  }),
  'webhook.disabled': entry({
    description: 'A webhook was switched off and receives nothing until it is made active again.',
    since: '0.1.0',
    actors: ['system', 'user'],
    subject: 'webhook',
    schema: Type.Object({
      webhook_id: text('`WHK-*` of the webhook.'),
      reason: Type.Enum(['gone', 'failing', 'manual'], {
        description: 'The receiver answered 410, failed for days, or somebody decided it.',
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

/** An event of a known type; of several types, a union that narrows on `type`. */
export type EventOf<T extends EventTypeName> = { [Name in T]: TypedEvent<Name, PayloadOf<Name>> }[T];

/** The types that producers record; the service records `webhook.*` itself. */
type ProducedTypeName = Exclude<EventTypeName, `webhook.${string}`>;

/** What a producer says of an event of these types. Payloads may have fields beyond those of the catalogue. */
export type NewEventOf<T extends ProducedTypeName> = {
  [Name in T]: NewEvent & { type: Name; payload: PayloadOf<Name> };
}[T];

/** A type that an installation adds to the catalogue. */
export interface FurtherEventType {
  readonly type: string;
  readonly description: string;
  readonly schema: TSchema;
  readonly sample: Readonly<Record<string, unknown>>;
}

export interface Catalogue {
  get(type: string): EventType | undefined;
  /** In the order of the interface's table, further types after. */
  list(): readonly EventType[];
  /** The first segments of all types, each once. */
  domains(): readonly string[];
  /** The known type that was probably meant, or undefined where nothing comes near. */
  nearest(name: string): string | undefined;
}

/** A further type that cannot be taken into the catalogue. */
export class CatalogueError extends Error {
  override readonly name = 'CatalogueError';
}

const typeName = /^[a-z][a-z0-9_]{0,63}(\.[a-z][a-z0-9_]{0,63}){1,2}$/;

/** Throws a `CatalogueError` for a further type that is misnamed or takes a name that is not free. */
export function createCatalogue(further: readonly FurtherEventType[] = []): Catalogue {
  const types = new Map<string, EventType>(
    Object.entries(table).map(([type, fields]) => [type, { type, ...fields }]),
  );
  for (const added of further) {
    refuseMisnamed(added.type, types);
    const { type, description, schema, sample } = added;
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
  };
}

function domainOf(type: string): string {
  return type.slice(0, type.indexOf('.'));
}

function refuseMisnamed(type: string, taken: ReadonlyMap<string, EventType>): void {
  if (!typeName.test(type)) {
    throw new CatalogueError(
      `event type ${JSON.stringify(type)} is not a name: two or three segments of a-z, 0-9 and _, each ` +
        'beginning with a letter, with dots between them',
    );
  }
  if (type.startsWith('webhook.')) {
    throw new CatalogueError(`event type "${type}" cannot be added: webhook.* is the service's own domain`);
  }
  if (taken.has(type)) {
    throw new CatalogueError(`event type "${type}" cannot be added: the catalogue already has it`);
  }
}

/**
 * Near means that three quarters of the longer name agree. That forgives misspellings and a missing
 * segment (`agent.completed`); at two thirds `incident.closed` was answered with `incident.opened`, the
 * domain alone being near enough. Lengths that differ by more than the bound cannot be within it, so a
 * name of any length is cheap.
 */
function nearestOf(types: Iterable<string>, name: string): string | undefined {
  // Nothing that long is a misspelling, and the distance costs with the length.
  const wanted = name.slice(0, 200).toLowerCase();
  let nearest: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const type of types) {
    const edits = distance(wanted, type);
    if (edits < fewest) {
      nearest = type;
      fewest = edits;
    }
  }
  return nearest;
}
