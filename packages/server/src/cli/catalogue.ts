import { readFile } from 'node:fs/promises';
import { CommandFailure, json, type Terminal } from 'posthorn';
import { type OwnCatalogue, readOwnCatalogue, reasonOf } from '../catalogue/catalogue-file.js';
import { type AppliedChange, changeCatalogue } from '../catalogue/catalogue-store.js';
import { recordedPayloads } from '../resources/resource-operations.js';
import { type OperatorCommand, withDatabase } from './operator.js';

const argument = { name: 'file', description: 'A file in the format of POSTHORN_CATALOGUE.' };

export const catalogueDiff = changing('catalogue diff', true);
export const catalogueApply = changing('catalogue apply', false);

function changing(name: string, dryRun: boolean) {
  const command: OperatorCommand = {
    name,
    argument,
    options: { json },
    run: async ({ argument: file, options, config, terminal }) => {
      const own = await readFileOf(file);
      const change = await withDatabase(config, (database) => changeCatalogue(database, own, { dryRun }));
      if (change === 'owned by file')
        throw new CommandFailure(
          'A running node has the setting POSTHORN_CATALOGUE, so only that file can change the catalogue. Change that ' +
            'file, or restart all nodes without the setting.',
        );
      if (options.json) terminal.line(JSON.stringify(change));
      else show(change, terminal);
    },
  };
  return command;
}

async function readFileOf(file: string): Promise<OwnCatalogue> {
  let content: unknown;
  try {
    content = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw new CommandFailure(`${file} cannot be read: ${(error as Error).message}.`);
  }
  const { own, faults } = readOwnCatalogue(content, recordedPayloads);
  if (faults.length === 0) return own;
  throw new CommandFailure(
    `${file} cannot be used:\n${faults.map((fault) => `  ${reasonOf(fault, content)}`).join('\n')}`,
  );
}

/** Prints one line for each type, and below it what can break. */
function show({ added, changed, removed, webhooks }: AppliedChange, terminal: Terminal): void {
  if (added.length + changed.length + removed.length === 0) terminal.line('No changes.');
  for (const type of added) terminal.line(`added    ${type}`);
  for (const { type, version, breaking } of changed) {
    terminal.line(`changed  ${type} (version ${version})`);
    for (const sentence of breaking) terminal.line(`         ${sentence}`);
  }
  for (const type of removed) terminal.line(`removed  ${type}`);
  for (const { id, organization_id, type } of webhooks) {
    const fate = removed.includes(type) ? `no longer gets ${type}` : `gets the changed ${type}`;
    terminal.line(`breaks   ${id} of ${organization_id}, which ${fate}.`);
  }
}
