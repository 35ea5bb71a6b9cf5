import { auditEntryJson, oldestAuditMs, type StoredAuditEntry } from '../domain/audit.js';
import { readAuditPage, readNewestAudit } from '../storage/audit.js';
import {
  type ChainFault,
  type ChainReport,
  readAuditedOrganizations,
  verifyChain,
} from '../storage/audit-chain.js';
import type { Database } from '../storage/database.js';
import { type Command, CommandFailure } from './command.js';
import { limitOf, limitOption, rangeOf, rangeOptions } from './listing.js';
import type { Terminal } from './terminal.js';
import { visit } from './visit.js';

const organization = { value: 'ORG-x', description: 'Only of this organization.' };
const organizationsAtOnce = 100;

export const auditList: Command = {
  name: 'audit list',
  summary: 'Show the audit log, newest first: who changed what.',
  options: {
    organization,
    workspace: { value: 'WS-x', description: 'Only of this workspace.' },
    actor: { value: 'id', description: 'Only what this actor did.' },
    action: { value: 'action', description: 'Only this action, such as webhook.created.' },
    target: { value: 'id', description: 'Only what was done to this.' },
    ...rangeOptions,
    limit: limitOption,
    json: { description: 'One JSON object a line.' },
  },
  run: async ({ options, config, terminal }) => {
    const limit = limitOf(options);
    const filter = {
      workspace_id: options.workspace,
      actor_id: options.actor,
      action: options.action,
      target_id: options.target,
      ...rangeOf(options, oldestAuditMs(Date.now())),
    };
    const organization_id = options.organization;
    const page = await visit(config, (database) =>
      organization_id === undefined
        ? readNewestAudit(database, filter, limit)
        : readAuditPage(database, { ...filter, organization_id }, 'desc', undefined, limit),
    );
    if (options.json) for (const entry of page.rows) terminal.line(oneLine(entry));
    else terminal.table(headings, page.rows.map(cells));
    if (terminal.isInteractive && !options.json) {
      if (page.rows.length === 0) terminal.line('No entries.');
      if (page.hasMore)
        terminal.line(terminal.paint('dim', 'There is more: raise --limit or narrow the filters.'));
    }
  },
};

export const auditVerify: Command = {
  name: 'audit verify',
  summary: 'Check that no entry of the audit log was altered or removed, and print the hash of the last.',
  options: { organization, json: { description: 'One JSON object a line.' } },
  run: async ({ options, config, terminal }) => {
    const broken = await visit(config, async (database) => {
      let broken = 0;
      for await (const id of organizationsOf(database, options.organization)) {
        const report = await verifyChain(database, id, (seen, of) =>
          terminal.status(terminal.paint('dim', `${id}: ${seen} of ${of}`)),
        );
        if (report.fault) broken += 1;
        terminal.line(options.json ? JSON.stringify(reportBody(report)) : reportLine(report, terminal));
      }
      return broken;
    });
    if (broken === 0) return;
    const whose = broken === 1 ? 'one organization' : `${broken} organizations`;
    throw new CommandFailure(`The audit log of ${whose} is not as it was written.`);
  },
};

async function* organizationsOf(database: Database, only: string | undefined): AsyncGenerator<string> {
  if (only !== undefined) {
    yield only;
    return;
  }
  let last = '';
  for (;;) {
    const some = await readAuditedOrganizations(database, last, organizationsAtOnce);
    yield* some;
    if (some.length < organizationsAtOnce) return;
    last = some.at(-1) ?? last;
  }
}

const headings = ['time', 'action', 'target', 'actor', 'organization', 'workspace', 'from', 'id'];

function cells(entry: StoredAuditEntry): string[] {
  return [
    entry.created_at.toISOString(),
    entry.action,
    entry.target_id,
    `${entry.actor_type} ${entry.actor_id}`,
    entry.organization_id,
    entry.workspace_id ?? '-',
    entry.source_address ?? '-',
    entry.id,
  ];
}

/** Whoever wrote the entry may have broken lines between the tokens of its changes. */
function oneLine(entry: StoredAuditEntry): string {
  return auditEntryJson(entry).replace(/[\r\n]+/g, ' ');
}

function reportBody({ organization_id, entries, position, head, fault }: ChainReport) {
  return fault
    ? { organization_id, intact: false, fault: fault.kind, position: fault.position, id: fault.id }
    : { organization_id, intact: true, entries, position, head };
}

function reportLine(report: ChainReport, terminal: Terminal): string {
  const { organization_id, entries, position, head, fault } = report;
  if (fault) return [organization_id, terminal.paint('red', describe(fault))].join('\t');
  return [
    organization_id,
    `${entries} ${entries === 1 ? 'entry' : 'entries'}`,
    `last at position ${position}`,
    head,
  ].join('\t');
}

function describe({ kind, position, id }: ChainFault): string {
  if (kind !== 'missing') return `position ${position} (${id}): ${meanings[kind]}`;
  return `position ${position}: the entry was removed; ${id === null ? 'nothing follows' : `${id} follows`}`;
}

const meanings: Record<Exclude<ChainFault['kind'], 'missing'>, string> = {
  altered: 'its hash does not follow from its content and the entry before it; one of the two was altered',
  added: 'an entry that does not belong there was added',
  'unknown end': 'it cannot be told whether this is the end, as the row in posthorn.audit_chains was removed',
};
