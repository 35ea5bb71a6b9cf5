import { inspect, parseArgs } from 'node:util';
import { ConfigError, readConfig, version } from '../config.js';
import { isUnreachable } from '../storage/database.js';
import { EmbeddedUnavailable } from '../storage/embedded/binaries.js';
import { DataDirectoryInUse } from '../storage/embedded/embedded.js';
import { IncompatibleDatabase } from '../storage/migrate.js';
import { auditList, auditVerify } from './audit.js';
import { type Command, CommandFailure, UsageError } from './command.js';
import { demo } from './demo.js';
import { eventsGet, eventsList, eventsTail } from './events.js';
import { commandHelp, overview, usageLine } from './help.js';
import { migrateCommand } from './migrate.js';
import { serve } from './serve.js';
import { type Output, Terminal } from './terminal.js';
import { tokenCreate, tokenList, tokenRevoke } from './token.js';

export const commands: readonly Command[] = [
  serve,
  demo,
  migrateCommand,
  tokenCreate,
  tokenList,
  tokenRevoke,
  eventsList,
  eventsGet,
  eventsTail,
  auditList,
  auditVerify,
];

/** Runs one command line and returns the exit code: 0 success, 1 failure, 2 usage error. */
export async function main(
  argv: readonly string[],
  env: Record<string, string | undefined>,
  { stdout, stderr }: { stdout: Output; stderr: Output } = process,
): Promise<number> {
  const terminal = new Terminal(stdout, env);
  try {
    if (argv.includes('--version') || argv[0] === 'version') {
      terminal.line(version);
      return 0;
    }
    const command = commands.find(({ name }) => name === argv.slice(0, name.split(' ').length).join(' '));
    if (!command) {
      if (argv.length === 0 || ['--help', '-h', 'help'].includes(argv[0] ?? '')) {
        terminal.line(overview(commands, version));
        return 0;
      }
      throw new UsageError(unknownCommand(argv));
    }
    const rest = argv.slice(command.name.split(' ').length);
    if (rest.includes('--help') || rest.includes('-h')) {
      terminal.line(commandHelp(command));
      return 0;
    }
    const { options, argument } = parse(command, rest);
    const loopback = options['allow-loopback'] ? { egressAllow: '127.0.0.0/8,::1/128' } : {};
    const fallbacks = { ...command.fallbacks, ...loopback };
    await command.run({ options, argument, env, config: readConfig(env, fallbacks), terminal });
    return 0;
  } catch (error) {
    stderr.write(`${report(error)}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

function parse(command: Command, args: readonly string[]) {
  const known = Object.entries(command.options);
  let parsed: { values: Record<string, string | boolean | undefined>; positionals: string[] };
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: Object.fromEntries(
        known.map(([name, option]) => [
          name,
          { type: option.value ? ('string' as const) : ('boolean' as const) },
        ]),
      ),
    });
  } catch (error) {
    const [first = ''] = (error as Error).message.split('. ', 1);
    throw new UsageError(`${first}.\nUsage: ${usageLine(command)}`);
  }
  const missing = known.filter(([name, option]) => option.required && !parsed.values[name]);
  if (missing.length > 0) {
    const names = missing.map(([name, option]) => `--${name} ${option.value}`).join(', ');
    throw new UsageError(`posthorn ${command.name} requires ${names}.\nUsage: ${usageLine(command)}`);
  }
  const [argument = '', ...extra] = parsed.positionals;
  if (command.argument && argument === '') {
    throw new UsageError(
      `posthorn ${command.name} requires <${command.argument.name}>.\nUsage: ${usageLine(command)}`,
    );
  }
  const surplus = command.argument ? extra[0] : parsed.positionals[0];
  if (surplus !== undefined) {
    throw new UsageError(
      `posthorn ${command.name}: unexpected argument '${surplus}'.\nUsage: ${usageLine(command)}`,
    );
  }
  const options = Object.fromEntries(
    Object.entries(parsed.values).map(([name, value]) => [
      name,
      value === undefined ? undefined : String(value),
    ]),
  );
  return { options, argument };
}

function unknownCommand(argv: readonly string[]): string {
  const group = commands.filter(({ name }) => name.startsWith(`${argv[0]} `));
  if (group.length > 0)
    return `posthorn ${argv[0]} requires a subcommand: ${group.map(({ name }) => name).join(', ')}.`;
  return `Unknown command '${argv[0]}'. Run posthorn --help to list the commands.`;
}

/** Returns what to print: one line for a failure that a user can act on, or the whole error otherwise. */
function report(error: unknown): string {
  const expected =
    error instanceof UsageError ||
    error instanceof CommandFailure ||
    error instanceof ConfigError ||
    error instanceof EmbeddedUnavailable ||
    error instanceof DataDirectoryInUse ||
    error instanceof IncompatibleDatabase;
  if (expected) return error.message;
  if (!isUnreachable(error)) return inspect(error);
  // Node gives no message if a name has several addresses and none of them accepts the connection.
  const { message, code } = error as NodeJS.ErrnoException;
  const advice = 'Check that PostgreSQL is running and, if you set it, DATABASE_URL.';
  return `Cannot reach the database: ${message || code}. ${advice}`;
}
