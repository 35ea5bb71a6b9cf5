import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import type { Database } from '../postgres/database.js';
import { Problem } from '../values/problem.js';
import { nonEmpty } from '../web/schemas.js';
import { tenancyOf } from '../web/tenancy.js';
import { verifyChainEnd } from './chain-store.js';

/** Bounds the cost of a request. `posthorn audit verify` checks every entry. */
const checkedMax = 1_000;

const ChainQuery = Type.Object(
  { organization_id: nonEmpty("Organization ID. Default: the token's organization.", ['ORG-demo']) },
  { additionalProperties: false },
);

const ChainFaultSchema = Type.Object(
  {
    kind: Type.Enum(['altered', 'missing', 'added', 'unknown_end'], {
      description:
        '`altered`: the hash does not match this entry and the previous hash. `missing`: the entry at this position was ' +
        'removed. `added`: the entry does not belong to the chain. `unknown_end`: the record of where the chain ends was ' +
        'removed.',
    }),
    position: Type.Integer({ description: 'Position in the chain.', examples: [2] }),
    id: Type.Union([Type.String(), Type.Null()], {
      description:
        'ID of the entry at this position or, if that entry is missing, of the next one. Null if there is none.',
      examples: ['AUD-01JAB3C4D50000000G9J0K1M2N'],
    }),
  },
  { title: 'AuditChainFault' },
);

const AuditChainSchema = Type.Object(
  {
    organization_id: Type.String({ description: 'Organization ID.', examples: ['ORG-demo'] }),
    intact: Type.Boolean({ description: 'Whether all entries that were checked are valid.' }),
    entries: Type.Integer({ description: 'Number of entries that are stored.', examples: [1204] }),
    checked: Type.Integer({
      description: `Number of entries that were checked: the newest ones, at most ${checkedMax.toLocaleString('en')}.`,
      examples: [checkedMax],
    }),
    position: Type.Integer({ description: 'Position of the last valid entry.', examples: [1204] }),
    head: Type.String({
      description:
        'Hash of the last valid entry, in hexadecimal. Empty if there are no entries. Store it elsewhere ' +
        'to compare it later.',
      examples: ['6ca9ad45dec9566c1fe3307709ff59fe9ff024d5d82b0c1075bf7c68b9f77849'],
    }),
    fault: Type.Union([ChainFaultSchema, Type.Null()], {
      description: 'The first fault in the chain. Null if there is none.',
      examples: [null],
    }),
    checked_at: Type.String({ format: 'date-time', description: 'Time of the check.' }),
  },
  { title: 'AuditChain', additionalProperties: false },
);

/** Adds `GET /v1/audit-logs/chain`. */
export function auditChainRoutes(app: FastifyInstance, database: Database, now: () => number): void {
  app.get<{ Querystring: Static<typeof ChainQuery> }>(
    '/v1/audit-logs/chain',
    {
      config: { scopes: ['audit:read'] },
      schema: {
        operationId: 'getAuditChain',
        tags: ['Audit log'],
        summary: 'Check the audit log',
        description:
          'Recomputes the hashes of the newest entries and compares them with the chain, to detect whether an entry ' +
          'was altered or removed. A token that is restricted to a workspace gets 403, because the chain contains ' +
          'the entries of all workspaces. `posthorn audit verify` checks all entries.',
        querystring: ChainQuery,
        response: { 200: Type.Object({ data: AuditChainSchema }) },
      },
    },
    async ({ query, token }) => {
      const { organization_id, workspace_id } = tenancyOf(token, query);
      if (workspace_id !== undefined) {
        throw new Problem(
          'workspace_forbidden',
          'The chain contains the entries of all workspaces, but the token is restricted to one.',
        );
      }
      const report = await verifyChainEnd(database, organization_id, checkedMax);
      const { entries, checked, position, head, fault } = report;
      return {
        data: {
          organization_id,
          intact: fault === undefined,
          entries,
          checked,
          position,
          head,
          fault: fault ? { ...fault, kind: fault.kind === 'unknown end' ? 'unknown_end' : fault.kind } : null,
          checked_at: new Date(now()).toISOString(),
        },
      };
    },
  );
}
