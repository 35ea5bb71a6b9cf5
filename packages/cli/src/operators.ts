import { type Command, CommandFailure } from './command.js';

/** The operator commands, which are part of @posthorn/server. A test compares this list with the server. */
export const operatorSummaries: Readonly<Record<string, string>> = {
  serve: 'Apply migrations and start the service.',
  demo: 'Run the service with a simulated company, five receivers and a live dashboard. Press q to stop.',
  migrate: 'Apply migrations and exit.',
  status:
    'Show the nodes, the waiting deliveries, the failing webhooks, the partitions, and whether the secret key works.',
  doctor:
    'Check the database, the clock, the keys, the permissions, and the networks that deliveries may reach. Exits with 1 if something is wrong.',
  'token create': 'Create an access token and print it once.',
  'token list':
    'List access tokens, newest first. The tokens themselves are not shown: only their hashes are stored.',
  'token revoke': 'Revoke an access token. Every node rejects it within 2 seconds.',
  'audit verify':
    'Check that no audit log entry was altered or removed, and print the hash of the last entry.',
  'catalogue diff':
    'Show what a file would change in the catalogue of event types, and which webhooks that would break.',
  'catalogue apply': 'Make a file the catalogue of event types. All nodes use it within 2 seconds.',
  'organization rename': 'Set the display name of an organization, which the console and the portal show.',
  'organization move':
    'Move an organization to another cell, or continue an interrupted move. Writes are rejected while its rows are copied.',
  'organization forget': 'Delete the old copy of an organization that has moved to another cell.',
};

/** Returns the operator commands, or undefined if @posthorn/server is not installed. */
export type LoadOperators = () => Promise<readonly Command[] | undefined>;

const server = '@posthorn/server';

export const installedOperators: LoadOperators = async () => {
  try {
    const { operatorCommands } = await import(`${server}/cli`);
    return operatorCommands as readonly Command[];
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ERR_MODULE_NOT_FOUND' && message.includes(server)) return undefined;
    throw error;
  }
};

/** Stand-ins for the operator commands if @posthorn/server is not installed. They say where to run the command. */
export const missingOperators: readonly Command[] = Object.entries(operatorSummaries).map(
  ([name, summary]) => ({
    name,
    summary,
    options: {},
    run: () => Promise.reject(notInstalled(name)),
  }),
);

export function notInstalled(name: string): CommandFailure {
  return new CommandFailure(
    `posthorn ${name} is part of ${server}, which is not installed. ` +
      `In a checkout of Posthorn, run npm ci, then npx posthorn ${name}.`,
  );
}
