import { createToken } from '../access/audited-tokens.js';
import { defaultLifetimeMs, newToken, newTokenText, scopes, tokenHash } from '../access/token.js';
import { findToken } from '../access/token-store.js';
import { operatorOrigin } from '../audit/audit-store.js';
import type { NewEvent } from '../events/event.js';
import { batchOf, recordBatch } from '../events/recording-store.js';
import type { Database } from '../postgres/database.js';
import type { Config } from '../settings/config.js';
import { storedSecret } from '../settings/keys.js';

export const demoOrganization = 'ORG-demo';
/** The name of the file in the data directory. */
export const demoTokenFile = 'demo-token';

/** Creates the demo token and the demo events once, in a new embedded database. Returns the token. */
export async function prepareDemo(
  database: Database,
  { dataDir, cell }: Pick<Config, 'dataDir' | 'cell'>,
  nowMs: number,
): Promise<string> {
  const text = await storedSecret(dataDir, demoTokenFile, () => newTokenText(cell));
  const hash = tokenHash(text);
  if (await findToken(database, hash)) return text;
  const token = newToken(
    {
      organization_id: demoOrganization,
      workspace_id: null,
      scopes,
      portal: false,
      actor: { type: 'user', id: 'USR-demo' },
      lifetimeMs: defaultLifetimeMs,
    },
    nowMs,
  );
  await createToken(database, token, hash, operatorOrigin());
  await recordBatch(database, batchOf(demoEvents));
  return text;
}

/** A morning at a small company, oldest first. */
const demoEvents: readonly NewEvent[] = [
  happened(
    'user.invited',
    'user USR-ada',
    'user USR-grace',
    { id: 'USR-grace', email: 'grace@example.com', role: 'operator' },
    null,
  ),
  happened(
    'integration.connected',
    'user USR-ada',
    'integration INT-ledger',
    { id: 'INT-ledger', provider: 'ledger' },
    null,
  ),
  happened('service_line.activated', 'user USR-ada', 'service_line LIN-payroll', {
    previous_status: 'draft',
    new_status: 'active',
    execution_model: 'agent_led',
    product_line: 'payroll',
  }),
  happened('agent.run.started', 'agent AGT-penny', 'run RUN-1001', { service_line_id: 'LIN-payroll' }),
  happened('task.created', 'agent AGT-penny', 'task TSK-7', {
    id: 'TSK-7',
    title: 'Check the new bank details',
  }),
  happened('agent.run.completed', 'agent AGT-penny', 'run RUN-1001', {
    service_line_id: 'LIN-payroll',
    duration_ms: 48_213,
    tokens_used: 15_377,
    outcome: 'success',
  }),
  happened('incident.opened', 'agent AGT-penny', 'incident INC-12', {
    id: 'INC-12',
    service_line_id: 'LIN-payroll',
    severity: 'p2',
    title: 'Two payslips differ from the ledger',
  }),
  happened('task.assigned', 'user USR-grace', 'task TSK-7', { id: 'TSK-7', assignee_id: 'USR-grace' }),
  happened('incident.resolved', 'user USR-grace', 'incident INC-12', { id: 'INC-12' }),
  happened(
    'invoice.finalized',
    'user USR-ada',
    'invoice INV-2041',
    {
      id: 'INV-2041',
      previous_status: 'draft',
      new_status: 'open',
    },
    null,
  ),
  happened('invoice.paid', 'user USR-ada', 'invoice INV-2041', { id: 'INV-2041' }, null),
  happened('capacity.utilisation_warning', 'agent AGT-penny', 'capacity CAP-payroll', { id: 'CAP-payroll' }),
];

function happened(
  type: string,
  actor: string,
  subject: string,
  payload: Record<string, unknown>,
  workspace: string | null = 'WS-berlin',
): NewEvent {
  const [actorType = '', actorId = ''] = actor.split(' ');
  const [subjectType = '', subjectId = ''] = subject.split(' ');
  return {
    type,
    organization_id: demoOrganization,
    workspace_id: workspace,
    actor: { type: actorType, id: actorId },
    subject: { type: subjectType, id: subjectId },
    payload,
  };
}
