import Type from 'typebox';
import type { Database } from '../postgres/database.js';
import { Problem } from '../values/problem.js';
import { list, pageSchema, sendPage } from '../web/lists.js';
import { type Route, route } from '../web/route.js';
import * as schemas from '../web/schemas.js';
import { auditEntryJson, earliestAuditMs } from './audit.js';
import { readAuditPage } from './audit-store.js';
import { verifyChainEnd } from './chain-store.js';

/** Bounds the cost of a request. `posthorn audit verify` checks every entry. */
const checkedMax = 1_000;

const AuditEntry = Type.Object(
  {
    id: schemas.id('AUD', 'Entry ID.', 'AUD-01JAB3C4D50000000G9J0K1M2N'),
    organization_id: schemas.id('ORG', 'Organization ID.', 'ORG-demo'),
    workspace_id: schemas.orNull(
      schemas.id('WS', 'Workspace ID. Null if the action concerns the whole organization.', 'WS-berlin'),
    ),
    actor: schemas.ReferenceSchema(
      'Who performed the action, such as a `user`, an `agent` or a `token`. `operator` means that someone used the command line.',
      { type: 'user', id: 'USR-ada' },
    ),
    action: schemas.text('The action, such as `webhook.created`.', 'webhook.updated'),
    target: schemas.ReferenceSchema(
      'What the action changed, such as a `webhook`, a `token` or a `service_line`.',
      {
        type: 'webhook',
        id: 'WHK-01JAB3C4D5E6F7G8H9J0K1M2N3',
      },
    ),
    request_id: schemas.textOrNull(
      'Request ID, as in `X-Request-Id`. Null for actions on the command line.',
      '9f1c8f0e-2c53-4f0e-a0a0-8a7e6f1d2c3b',
    ),
    source_address: schemas.textOrNull('IP address that the request came from.', '203.0.113.7'),
    changes: schemas.mapOf(
      schemas.named('Change', {
        from: Type.Unknown({ description: 'Old value. Null if there was none.' }),
        to: Type.Unknown({ description: 'New value. Null if there is none.' }),
      }),
      {
        description: 'Every field that changed, with its old and new values. Never contains a secret.',
        examples: [{ event_types: { from: ['*'], to: ['invoice.*'] } }],
      },
    ),
    created_at: schemas.time('Time of the action.'),
  },
  { title: 'AuditEntry', additionalProperties: false },
);

const AuditChainFault = schemas.named('AuditChainFault', {
  kind: schemas.oneOf(
    ['altered', 'missing', 'added', 'unknown_end'],
    '`altered`: the hash does not match this entry and the previous hash. `missing`: the entry at this position was ' +
      'removed. `added`: the entry does not belong to the chain. `unknown_end`: the record of where the chain ends was ' +
      'removed.',
  ),
  position: schemas.whole('Position in the chain.', 2),
  id: schemas.textOrNull(
    'ID of the entry at this position or, if that entry is missing, of the next one. Null if there is none.',
    'AUD-01JAB3C4D50000000G9J0K1M2N',
  ),
});

const AuditChain = Type.Object(
  {
    organization_id: schemas.organizationId,
    intact: schemas.flag('Whether all entries that were checked are valid.'),
    entries: schemas.whole('Number of entries that are stored.', 1204),
    checked: schemas.whole(
      `Number of entries that were checked: the newest ones, at most ${checkedMax.toLocaleString('en')}.`,
      checkedMax,
    ),
    position: schemas.whole('Position of the last valid entry.', 1204),
    head: schemas.text(
      'Hash of the last valid entry, in hexadecimal. Empty if there are no entries. Store it elsewhere ' +
        'to compare it later.',
      '6ca9ad45dec9566c1fe3307709ff59fe9ff024d5d82b0c1075bf7c68b9f77849',
    ),
    fault: Type.Union([AuditChainFault, Type.Null()], {
      description: 'The first fault in the chain. Null if there is none.',
      examples: [null],
    }),
    checked_at: schemas.time('Time of the check.'),
  },
  { title: 'AuditChain', additionalProperties: false },
);

export function auditRoutes(database: Database, now: () => number): readonly Route[] {
  return [
    route('GET /v1/audit-logs', {
      operationId: 'listAuditLogs',
      summary: 'List audit log entries',
      description:
        'Returns the entries that match all filters, sorted by `created_at` and `id`, newest first by ' +
        'default. Every change that an actor makes to a webhook, a token or a resource creates one entry, ' +
        'in the same transaction as the change.',
      scopes: ['audit:read'],
      ...list({
        name: 'audit logs',
        filters: {
          organization_id: schemas.ownOrganization,
          workspace_id: schemas.filter('Return only entries for this workspace.', 'WS-berlin'),
          actor_id: schemas.filter('Return only entries for actions by this actor.', 'USR-ada'),
          action: schemas.filter('Return only entries with this action.', 'webhook.created'),
          target_id: schemas.filter(
            'Return only entries about this target. Use it to get the history of one webhook, token or resource.',
            'WHK-01JAB3C4D5E6F7G8H9J0K1M2N3',
          ),
        },
        earliestMs: () => earliestAuditMs(now()),
        ordered: 'entry',
        limit: 25,
      }),
      returns: { 200: pageSchema(AuditEntry) },
      handler: async ({ query, tenancy, input }, reply) => {
        const { order, after, limit, fromMs, toMs } = input;
        const filter = { ...query, ...tenancy, fromMs, toMs };
        const page = await readAuditPage(database, filter, order, after, limit);
        return sendPage(reply, page.rows.map(auditEntryJson), page, input);
      },
    }),
    route('GET /v1/audit-logs/chain', {
      operationId: 'getAuditChain',
      summary: 'Check the audit log',
      description:
        'Recomputes the hashes of the newest entries and compares them with the chain, to detect whether an entry ' +
        'was altered or removed. A token that is restricted to a workspace gets 403, because the chain contains ' +
        'the entries of all workspaces. `posthorn audit verify` checks all entries.',
      scopes: ['audit:read'],
      query: schemas.closed({ organization_id: schemas.ownOrganization }),
      returns: { 200: schemas.dataOf(AuditChain) },
      handler: async ({ tenancy: { organization_id, workspace_id } }) => {
        if (workspace_id !== undefined) {
          throw new Problem(
            'workspace_forbidden',
            'The chain contains the entries of all workspaces, but the token is restricted to one.',
          );
        }
        const { entries, checked, position, head, fault } = await verifyChainEnd(
          database,
          organization_id,
          checkedMax,
        );
        return {
          data: {
            organization_id,
            intact: fault === undefined,
            entries,
            checked,
            position,
            head,
            fault: fault
              ? { ...fault, kind: fault.kind === 'unknown end' ? 'unknown_end' : fault.kind }
              : null,
            checked_at: new Date(now()).toISOString(),
          },
        };
      },
    }),
  ];
}
