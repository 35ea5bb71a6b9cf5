import Type, { type TSchema } from 'typebox';
import type { EventTypeName } from '../catalogue/catalogue.js';

/** A type of resource: its attributes, its statuses and the moves between them. */
export interface Lifecycle {
  /** The `type` of the subject in its events. */
  readonly kind: string;
  readonly prefix: string;
  /** The fields that describe the resource, in display order. */
  readonly attributes: Readonly<Record<string, Attribute>>;
  readonly creation: { readonly to: string; readonly event?: EventTypeName };
  readonly moves: Readonly<Record<string, Move>>;
}

export type Attribute = AttributeOrigin & {
  readonly required?: true;
  /** The value if the creation request omits it. Without a fallback, the value is null. */
  readonly fallback?: Fallback;
  /**
   * The name of an event field. Each move whose event has that field increments the attribute, which is read-only.
   */
  readonly counts?: string;
};

/**
 * Where the schema of an attribute comes from: the field with the same name in the payload of an event type
 * or, if no event has such a field, a schema of its own.
 */
type AttributeOrigin = { readonly of: EventTypeName } | { readonly schema: TSchema };

export interface Move {
  /** For the API reference, if the name of the move is not self-explanatory. */
  readonly summary?: string;
  /** The new status for each status that allows the move. */
  readonly transitions: Readonly<Record<string, string>>;
  readonly event: EventTypeName;
  /** Fields that a request must have. */
  readonly needs?: readonly string[];
  /** Fields that go only into the event, although the resource has attributes with the same names. */
  readonly eventOnly?: readonly string[];
  /** Fields of the payload that are filled in if the request leaves them out. */
  readonly fills?: Readonly<Record<string, Fill>>;
}

/** A fixed value, or the ID of the actor if the actor has the given type. */
export type Fallback = { readonly value: string | number } | { readonly actor: string };

/** A fallback, the time of the move, or the milliseconds that the resource spent in its previous status. */
export type Fill = Fallback | 'now' | 'elapsed';

const name = (example: string) => ({
  schema: Type.String({ maxLength: 256, description: 'Display name.', examples: [example] }),
});

/**
 * The resources with a lifecycle, by their names in paths. Code, SQL, diagrams, OpenAPI and tests are derived from
 * this table. The catalogue describes the events and their fields.
 */
export const lifecycles = {
  'service-lines': {
    kind: 'service_line',
    prefix: 'LIN',
    attributes: {
      name: name('Customer support'),
      execution_model: { of: 'service_line.activated', fallback: { value: 'managed' } },
      product_line: { of: 'service_line.activated', fallback: { value: 'general' } },
    },
    creation: { to: 'draft' },
    moves: {
      activate: { transitions: { draft: 'active' }, event: 'service_line.activated' },
      pause: { transitions: { active: 'paused' }, event: 'service_line.paused' },
      resume: { transitions: { paused: 'active' }, event: 'service_line.status_changed' },
      close: { transitions: { active: 'closed', paused: 'closed' }, event: 'service_line.closed' },
    },
  },
  invoices: {
    kind: 'invoice',
    prefix: 'INV',
    attributes: {
      service_line_id: { of: 'invoice.finalized' },
      number: { of: 'invoice.finalized' },
      amount_minor: { of: 'invoice.finalized', fallback: { value: 0 } },
      currency: { of: 'invoice.finalized', fallback: { value: 'EUR' } },
      due_at: { of: 'invoice.finalized' },
      payment_attempts: {
        schema: Type.Integer({ minimum: 0, description: 'Number of failed payments.', examples: [0] }),
        counts: 'attempt',
        fallback: { value: 0 },
      },
    },
    creation: { to: 'draft' },
    moves: {
      finalize: { transitions: { draft: 'open' }, event: 'invoice.finalized' },
      pay: {
        transitions: { open: 'paid' },
        event: 'invoice.paid',
        eventOnly: ['amount_minor', 'currency'],
        fills: { paid_at: 'now' },
      },
      'fail-payment': {
        summary: 'Record a failed payment',
        transitions: { open: 'open' },
        event: 'invoice.payment_failed',
        eventOnly: ['amount_minor', 'currency'],
      },
      void: {
        transitions: { open: 'voided' },
        event: 'invoice.voided',
        eventOnly: ['amount_minor', 'currency'],
      },
    },
  },
  incidents: {
    kind: 'incident',
    prefix: 'INC',
    attributes: {
      service_line_id: { of: 'incident.opened', required: true },
      severity: { of: 'incident.opened', required: true },
      title: { of: 'incident.opened', required: true },
    },
    creation: { to: 'open', event: 'incident.opened' },
    moves: {
      'change-severity': {
        summary: 'Change the severity of an incident',
        transitions: { open: 'open' },
        event: 'incident.severity_changed',
        needs: ['severity'],
      },
      resolve: {
        transitions: { open: 'resolved' },
        event: 'incident.resolved',
        fills: { duration_ms: 'elapsed' },
      },
    },
  },
  agents: {
    kind: 'agent',
    prefix: 'AGT',
    attributes: { name: name('Invoice reader') },
    creation: { to: 'active' },
    moves: {
      'report-violation': {
        summary: 'Report a policy violation',
        transitions: { active: 'active' },
        event: 'agent.policy_violated',
      },
    },
  },
  runs: {
    kind: 'run',
    prefix: 'RUN',
    attributes: {
      agent_id: { of: 'agent.run.started', fallback: { actor: 'agent' } },
      service_line_id: { of: 'agent.run.completed', required: true },
      task_id: { of: 'agent.run.started' },
      trigger: { of: 'agent.run.started' },
    },
    creation: { to: 'running', event: 'agent.run.started' },
    moves: {
      complete: {
        transitions: { running: 'completed' },
        event: 'agent.run.completed',
        fills: { duration_ms: 'elapsed', tokens_used: { value: 0 }, outcome: { value: 'success' } },
      },
      fail: {
        transitions: { running: 'failed' },
        event: 'agent.run.failed',
        fills: { duration_ms: 'elapsed' },
      },
    },
  },
  users: {
    kind: 'user',
    prefix: 'USR',
    attributes: {
      name: name('Ada Lovelace'),
      email: { of: 'user.invited' },
      role: { of: 'user.invited', fallback: { value: 'member' } },
      invited_by: { of: 'user.invited', fallback: { actor: 'user' } },
      expires_at: { of: 'user.invited' },
    },
    creation: { to: 'invited', event: 'user.invited' },
    moves: {
      'change-role': {
        summary: "Change a user's role",
        transitions: { invited: 'invited' },
        event: 'user.role_changed',
        needs: ['role'],
        fills: { changed_by: { actor: 'user' } },
      },
      deactivate: {
        transitions: { invited: 'deactivated' },
        event: 'user.deactivated',
        fills: { deactivated_by: { actor: 'user' } },
      },
    },
  },
  integrations: {
    kind: 'integration',
    prefix: 'INT',
    attributes: {
      provider: { of: 'integration.connected' },
      scopes: { of: 'integration.connected' },
    },
    creation: { to: 'connected', event: 'integration.connected' },
    moves: {
      'fail-sync': {
        summary: 'Record a failed sync',
        transitions: { connected: 'connected' },
        event: 'integration.sync_failed',
      },
      disconnect: { transitions: { connected: 'disconnected' }, event: 'integration.disconnected' },
      reconnect: { transitions: { disconnected: 'connected' }, event: 'integration.connected' },
    },
  },
  executions: {
    kind: 'execution',
    prefix: 'EXE',
    attributes: {
      service_line_id: { of: 'execution.blocked' },
      task_id: { of: 'execution.blocked' },
    },
    creation: { to: 'running' },
    moves: {
      block: { transitions: { running: 'blocked' }, event: 'execution.blocked' },
      resume: {
        transitions: { blocked: 'running' },
        event: 'execution.resumed',
        fills: { blocked_ms: 'elapsed' },
      },
    },
  },
  capacities: {
    kind: 'capacity',
    prefix: 'CAP',
    attributes: {
      name: name('Support team'),
      service_line_id: { of: 'capacity.gap_detected' },
      skill: { of: 'capacity.gap_detected' },
    },
    creation: { to: 'normal' },
    moves: {
      warn: {
        summary: 'Warn about utilization',
        transitions: { normal: 'strained', strained: 'strained', short: 'strained' },
        event: 'capacity.utilisation_warning',
      },
      'detect-gap': {
        summary: 'Record a capacity gap',
        transitions: { normal: 'short', strained: 'short', short: 'short' },
        event: 'capacity.gap_detected',
      },
    },
  },
  tasks: {
    kind: 'task',
    prefix: 'TSK',
    attributes: {
      title: { of: 'task.created' },
      priority: { of: 'task.created' },
      service_line_id: { of: 'task.created' },
      assignee_id: { of: 'task.created' },
      due_at: { of: 'task.created' },
    },
    creation: { to: 'open', event: 'task.created' },
    moves: {
      assign: {
        transitions: { open: 'open', in_progress: 'in_progress' },
        event: 'task.assigned',
        needs: ['assignee_id'],
      },
      start: { transitions: { open: 'in_progress' }, event: 'task.status_changed' },
      complete: { transitions: { in_progress: 'done' }, event: 'task.status_changed' },
      cancel: { transitions: { open: 'cancelled', in_progress: 'cancelled' }, event: 'task.status_changed' },
    },
  },
} as const satisfies Record<string, Lifecycle>;

/** One row of the table of moves. A creation has no `from`. */
export interface Transition {
  readonly move: string;
  readonly from: string | null;
  readonly to: string;
  readonly event: EventTypeName | undefined;
}

export function transitionsOf({ creation, moves }: Lifecycle): readonly Transition[] {
  const { to, event } = creation;
  return [
    { move: 'create', from: null, to, event },
    ...Object.entries(moves).flatMap(([move, { transitions, event: moved }]) =>
      Object.entries(transitions).map(([from, target]) => ({ move, from, to: target, event: moved })),
    ),
  ];
}

/** Returns every status, in the order of the table. */
export function statusesOf(lifecycle: Lifecycle): readonly string[] {
  return [...new Set(transitionsOf(lifecycle).map(({ to }) => to))];
}

/** Returns the moves that a status allows. */
export function possibleMoves({ moves }: Lifecycle, status: string): readonly string[] {
  return Object.keys(moves).filter((move) => Object.hasOwn(moves[move]!.transitions, status));
}
