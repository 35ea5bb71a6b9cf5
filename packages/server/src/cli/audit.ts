import { CommandFailure, jsonLines } from 'posthorn';
import * as chains from '../audit/chain-store.js';
import { type OperatorCommand, organizationOf, withDatabase } from './operator.js';

const organization = { value: 'ORG-x', description: 'Only entries for this organization.' };

export const auditVerify: OperatorCommand = {
  name: 'audit verify',
  options: { organization, json: jsonLines },
  run: async ({ options, config, terminal }) => {
    terminal.finishesWithoutReader = true;
    const only = organizationOf(options);
    let [checked, broken] = [0, 0];
    await withDatabase(config, async (database) => {
      for await (const id of only === undefined ? chains.auditedOrganizations(database) : [only]) {
        const report = await chains.verifyChain(database, id, (seen, of) =>
          terminal.status(terminal.paint('dim', `${id}: ${seen} of ${of}`)),
        );
        // The ID of an organization with neither entries nor a chain is most likely a typo.
        if (only !== undefined && report.position === 0 && !report.fault)
          throw new CommandFailure(
            `No audit log found for ${only}. Run posthorn audit verify without --organization to list all audit logs.`,
          );
        checked += 1;
        if (report.fault) broken += 1;
        terminal.line(options.json ? JSON.stringify(reportBody(report)) : reportLine(report));
      }
    });
    if (checked === 0 && terminal.isInteractive && !options.json) terminal.line('No entries found.');
    if (broken === 0) return;
    const whose = broken === 1 ? 'one organization' : `${broken} organizations`;
    throw new CommandFailure(
      `Verification failed for ${whose}: the audit log has been altered. Compare it with a backup.`,
    );
  },
};

function reportBody({ organization_id, entries, position, head, fault }: chains.ChainReport) {
  return fault
    ? { organization_id, intact: false, fault: fault.kind, position: fault.position, id: fault.id }
    : { organization_id, intact: true, entries, position, head };
}

function reportLine({ organization_id, entries, position, head, fault }: chains.ChainReport): string {
  if (fault) return `${organization_id}\t${describe(fault)}`;
  return `${organization_id}\t${entries} ${entries === 1 ? 'entry' : 'entries'}\tlast at position ${position}\t${head}`;
}

function describe({ kind, position, id }: chains.ChainFault): string {
  if (kind !== 'missing') return `position ${position} (${id}): ${meanings[kind]}`;
  return `position ${position}: the entry was removed; ${id === null ? 'no entry follows' : `the next entry is ${id}`}`;
}

const meanings: Record<Exclude<chains.ChainFault['kind'], 'missing'>, string> = {
  altered:
    'the hash does not match this entry and the previous hash; this entry or the previous one was altered',
  added: 'this entry does not belong to the chain; it was added',
  'unknown end': 'the end of the chain is unknown because its row in posthorn.audit_chains was removed',
};
