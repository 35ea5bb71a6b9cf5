import { inspect } from 'node:util';
import { PosthornError } from '@posthorn/client';
import { type Command, CommandFailure, exitCodeOf } from './command.js';
import { servedTypes } from './commands/types.js';
import { integratorCommands } from './commands.js';
import { completeCommand, completions } from './completion.js';
import { tokenSource } from './connection.js';
import { failureText } from './failure.js';
import { overview } from './help.js';
import { commandIn, parse } from './parser.js';
import { escaped, type Output, Terminal } from './terminal.js';
import { version } from './version.js';

/** A token that was typed in the wrong place must not end up in a log. */
const accessToken = /pht_[\w.-]{20,}/g;

export interface Streams {
  stdin?: NodeJS.ReadableStream & { isTTY?: boolean };
  stdout: Output;
  stderr: Output;
  /** Stops a command that runs until it is stopped, as SIGINT does. */
  stop?: AbortSignal;
}

/** The operator commands, which are part of @posthorn/server, in the order of the help. */
export const operatorSummaries: Readonly<Record<string, string>> = {
  serve: 'Apply migrations and start the service.',
  demo: 'Run the service with a simulated company, five receivers and a live dashboard. Press q to stop.',
  migrate: 'Apply migrations and exit.',
  status:
    'Show the nodes, the waiting deliveries, the failing webhooks, the partitions, and whether the secret key works.',
  doctor:
    'Check the database, the clock, the keys, the permissions, the files in the settings, and the networks that deliveries may reach. Exits with 1 if something is wrong.',
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
type LoadOperators = () => Promise<readonly Command[] | undefined>;

const server = '@posthorn/server';

const installedOperators: LoadOperators = async () => {
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
const missingOperators: readonly Command[] = Object.entries(operatorSummaries).map(([name, summary]) => ({
  name,
  summary,
  options: {},
  run: () => Promise.reject(notInstalled(name)),
}));

function notInstalled(name: string): CommandFailure {
  return new CommandFailure(
    `posthorn ${name} is part of ${server}, which is not installed. ` +
      `In a checkout of Posthorn, run npm ci, then npx posthorn ${name}.`,
  );
}

/** Runs one command line and returns the exit code: 0 success, 1 failure, 2 usage error. */
export async function main(
  argv: readonly string[],
  env: Record<string, string | undefined>,
  { stdin = process.stdin, stdout, stderr, stop }: Streams = process,
  loadOperators: LoadOperators = installedOperators,
): Promise<number> {
  const terminal = new Terminal(stdout, stderr, env);
  let running: Command | undefined;
  let token: string | undefined;
  try {
    const [first] = argv;
    if (first === '--version' || first === 'version') {
      terminal.line(version);
      return 0;
    }
    if (first === 'help' && argv.length > 1)
      return await main([...argv.slice(1), '--help'], env, { stdin, stdout, stderr }, loadOperators);
    if (first === undefined || ['--help', '-h', 'help'].includes(first)) {
      terminal.line(overview(groups, version, terminal.width));
      return 0;
    }
    if (first === completeCommand) {
      const all = allCommands((await loadOperators()) ?? missingOperators);
      const none = { options: {}, argument: '', fields: {} };
      const types = () => servedTypes({ ...none, env, terminal, input: stdin }).catch(() => ({ types: [] }));
      for (const word of await completions(all, argv.slice(1), types)) terminal.line(word);
      return 0;
    }
    const parsed = parse(await commandsFor(argv, loadOperators), argv, terminal.width);
    if ('help' in parsed) {
      terminal.line(parsed.help);
      return 0;
    }
    const { command, given } = parsed;
    running = command;
    const context = { ...given, env, terminal, input: stdin, stop };
    token = tokenSource(context);
    const operators = command.readsDatabase?.(context) ? await loadOperators() : undefined;
    await ((operators && commandIn(operators, command.name.split(' '))) ?? command).run(context);
    return 0;
  } catch (error) {
    terminal.status('');
    const text = error instanceof PosthornError && running ? failureText(error, running, token) : undefined;
    // The service found the mistake in the command line.
    const isMistaken = error instanceof PosthornError && error.errors.length > 0;
    const code = isMistaken ? 2 : exitCodeOf(error);
    const message = text ?? (code === undefined ? inspect(error) : (error as Error).message);
    stderr.write(`${escaped(message).replaceAll(accessToken, 'pht_…')}\n`);
    return code ?? 1;
  }
}

/** Returns the commands that a command line is parsed with. The server is loaded only for one of its own commands. */
async function commandsFor(
  argv: readonly string[],
  loadOperators: LoadOperators,
): Promise<readonly Command[]> {
  const wanted = commandIn(integratorCommands, argv) ? undefined : commandIn(missingOperators, argv);
  if (!wanted) return [...integratorCommands, ...missingOperators];
  const operators = await loadOperators();
  // Do not check the options, which are unknown without the server.
  if (!operators) throw notInstalled(wanted.name);
  return allCommands(operators);
}

/** Returns all commands: the integrator's, and the operator's that are not among them. */
export function allCommands(operators: readonly Command[]): readonly Command[] {
  return [...integratorCommands, ...operators.filter(({ name }) => name in operatorSummaries)];
}

const groups = [
  { title: 'For integrators', commands: integratorCommands },
  { title: 'For operators (part of @posthorn/server)', commands: missingOperators },
];
