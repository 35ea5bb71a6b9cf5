import { between, pick, type Random } from './random.js';
import type { ResourcesName } from './routines.js';

/** What an action can refer to. */
export interface ActionContext {
  random: Random;
  /** A service line of the company. */
  serviceLineId: string;
  agentId: string;
  userId: string;
}

type Fields = (context: ActionContext) => Record<string, unknown>;

const providers = ['zendesk', 'salesforce', 'datev', 'slack'] as const;
const firstNames = ['mira', 'jonas', 'aylin', 'tomas', 'ines', 'noor', 'felix', 'yuki'] as const;
const roles = ['member', 'operator', 'admin'] as const;
const severities = ['p1', 'p2', 'p3'] as const;
const titles = [
  'Order confirmations are sent late',
  'Payslips differ from the ledger',
  'The bank rejected the file',
  'Returns are booked twice',
] as const;
const errands = [
  'Check the new bank details',
  'Reply to the complaint about an order',
  'Prepare the monthly report',
  'Approve the refund',
] as const;

/** The attributes of a new resource. */
export const attributes: Record<ResourcesName, Fields> = {
  'service-lines': ({ random }) => {
    const product = pick(random, ['payroll', 'support', 'returns', 'bookkeeping'] as const);
    return {
      name: `${product} ${between(random, 1, 99)}`,
      execution_model: pick(random, ['agent_led', 'managed'] as const),
      product_line: product,
    };
  },
  invoices: ({ random, serviceLineId }) => ({
    service_line_id: serviceLineId,
    number: `2026-${String(between(random, 1, 999_999)).padStart(6, '0')}`,
    amount_minor: between(random, 1_000, 2_000_000),
    currency: 'EUR',
  }),
  incidents: ({ random, serviceLineId }) => ({
    service_line_id: serviceLineId,
    severity: pick(random, severities),
    title: pick(random, titles),
  }),
  agents: ({ random }) => ({ name: `Agent ${between(random, 1, 99)}` }),
  runs: ({ random, serviceLineId, agentId }) => ({
    agent_id: agentId,
    service_line_id: serviceLineId,
    trigger: pick(random, ['schedule', 'task_assigned', 'customer_request'] as const),
  }),
  users: ({ random }) => {
    const name = pick(random, firstNames);
    return {
      name,
      email: `${name}.${between(random, 100, 999)}@example.com`,
      role: pick(random, roles),
    };
  },
  integrations: ({ random }) => ({ provider: pick(random, providers), scopes: ['read', 'write'] }),
  executions: ({ serviceLineId }) => ({ service_line_id: serviceLineId }),
  capacities: ({ random, serviceLineId }) => ({
    name: 'Weekly hours',
    service_line_id: serviceLineId,
    skill: pick(random, ['second_level_support', 'bookkeeping', 'german'] as const),
  }),
  tasks: ({ random, serviceLineId }) => ({
    title: pick(random, errands),
    priority: pick(random, ['low', 'normal', 'high'] as const),
    service_line_id: serviceLineId,
  }),
};

/** The fields of a move, for moves that have some. */
export const details: Readonly<Record<string, Fields>> = {
  'service-lines/pause': ({ random }) => ({
    reason: pick(random, ['Stocktaking', 'The customer asked for it'] as const),
  }),
  'service-lines/resume': () => ({ reason: 'The problem is fixed.' }),
  'service-lines/close': () => ({ reason: 'The contract ended.' }),
  'invoices/pay': ({ random }) => ({
    payment_method: pick(random, ['sepa_debit', 'card', 'transfer'] as const),
  }),
  'invoices/fail-payment': () => ({
    payment_method: 'sepa_debit',
    failure_code: 'insufficient_funds',
    failure_reason: 'The account balance is too low.',
  }),
  'invoices/void': () => ({ reason: 'Billed twice.' }),
  'incidents/change-severity': ({ random }) => ({
    severity: pick(random, severities),
    reason: 'Reassessed.',
  }),
  'incidents/resolve': () => ({ resolution: 'The stuck queue was restarted and drained.' }),
  'agents/report-violation': ({ random, serviceLineId }) => ({
    service_line_id: serviceLineId,
    policy: pick(random, ['refund_limit', 'four_eyes', 'data_residency'] as const),
    action: 'Refund without approval.',
    blocked: random() < 0.8,
  }),
  'runs/complete': ({ random }) => ({ tokens_used: between(random, 500, 40_000), outcome: 'success' }),
  'runs/fail': ({ random }) => ({
    tokens_used: between(random, 100, 9_000),
    error_code: 'tool_timeout',
    error_message: 'The ticket system did not respond in time.',
    retryable: true,
  }),
  'users/change-role': ({ random }) => ({ role: pick(random, roles) }),
  'users/deactivate': () => ({ reason: 'Left the company.' }),
  'integrations/fail-sync': ({ random }) => ({
    error_code: 'rate_limited',
    error_message: 'The provider rejected the requests.',
    records_synced: between(random, 0, 900),
  }),
  'integrations/disconnect': () => ({ reason: 'The provider revoked access.' }),
  'executions/block': () => ({ reason: 'An approval is missing.' }),
  'executions/resume': () => ({ resolution: 'The approval was given.' }),
  'capacities/warn': ({ random }) => ({
    utilisation: between(random, 90, 120) / 100,
    threshold: 0.9,
    window_ms: 3_600_000,
  }),
  'capacities/detect-gap': ({ random }) => ({
    required_hours: between(random, 160, 200),
    available_hours: between(random, 100, 150),
  }),
  'tasks/assign': ({ random, agentId, userId }) => ({ assignee_id: random() < 0.5 ? agentId : userId }),
  'tasks/cancel': () => ({ reason: 'No longer needed.' }),
};
