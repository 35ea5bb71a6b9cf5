import { resolve } from 'node:path';
import { type EmbeddedDatabase, EmbeddedUnavailable, hasDatabase, openEmbedded } from '@posthorn/embedded';
import * as cli from 'posthorn';
import { readRelocation, relocationProblem } from '../cells/relocation-store.js';
import { Database } from '../postgres/database.js';
import * as errors from '../postgres/database-errors.js';
import { isMigrated, migrate } from '../postgres/migrate.js';
import { type Config, readConfig, type SettingName, settings } from '../settings/config.js';
import { identifierPattern, patternInWords } from '../values/pattern.js';
import { OperatorError } from '../values/problem.js';
import { parseInstantMs } from '../values/time.js';

/** A command that works on the database or runs the service: it gets the settings. */
export interface OperatorCommand extends Omit<cli.Command, 'run' | 'sections' | 'summary'> {
  /** Absent if the package posthorn knows it. */
  summary?: string;
  /** Whether the help of this command lists the settings. */
  showsSettings?: boolean;
  /** Replaces the defaults of settings that are not set. */
  fallbacks?: Partial<Record<SettingName, string>>;
  run: (context: OperatorContext) => Promise<void>;
}

export interface OperatorContext extends cli.Context {
  config: Config;
}

/** Turns an operator command into one that the command line can run. */
export function operatorCommand(given: OperatorCommand): cli.Command {
  const { showsSettings, fallbacks = {}, run, ...command } = given;
  return {
    summary: cli.operatorSummaries[command.name]!,
    ...command,
    sections: () => [...fallbackSections(fallbacks), ...(showsSettings ? [settingsSection()] : [])],
    run: async (context) => {
      const { options } = context;
      const loopback = options['allow-loopback'] ? { egressAllow: '127.0.0.0/8,::1/128' } : {};
      const { processes } = options;
      if (processes !== undefined && settings.processes.parse(processes) === undefined)
        throw cli.invalid('processes', processes, settings.processes.accepts);
      const own = processes === undefined ? {} : { POSTHORN_PROCESSES: processes };
      try {
        const config = readConfig({ ...context.env, ...own }, { ...fallbacks, ...loopback });
        await run({ ...context, config });
      } catch (error) {
        throw failureOf(error);
      }
    },
  };
}

function fallbackSections(fallbacks: Partial<Record<SettingName, string>>): cli.Section[] {
  const rows = Object.entries(fallbacks).map(
    ([name, text]) => [settings[name as SettingName].env, text] as const,
  );
  return rows.length === 0 ? [] : [{ title: 'Default settings for this command', rows }];
}

function settingsSection(): cli.Section {
  const rows = Object.values(settings).map((setting) => {
    const fallback = setting.fallbackNote ?? setting.fallback ?? 'none';
    return [setting.env, plainText(`${setting.description} Default: ${fallback}.`)] as const;
  });
  const link = 'This command reads the [settings](settings.md) from the environment.';
  return { title: 'Settings (environment variables)', rows, link };
}

/** Returns Markdown as a terminal shows it: without backticks, and with the file that a link leads to. */
function plainText(markdown: string): string {
  return markdown.replaceAll('`', '').replace(/\[([^\]]+)\]\(([^)#]+)[^)]*\)/g, '$1 ($2)');
}

/** Returns a one-line failure for an error that a user can act on, and any other error unchanged. */
export function failureOf(error: unknown): unknown {
  if (error instanceof OperatorError || error instanceof EmbeddedUnavailable)
    return new cli.CommandFailure(error.message);
  const advice = 'Check that PostgreSQL is running. If you set DATABASE_URL, check that it is correct.';
  const unreachable = unreachableFailure(error, 'database', 'DATABASE_URL', advice);
  if (unreachable) return unreachable;
  if (errors.isForbidden(error))
    return new cli.CommandFailure(
      `The user in DATABASE_URL lacks a permission: ${errors.reasonOf(error as Error)}. Run posthorn doctor to see what to do.`,
    );
  if (errors.isTransient(error))
    return new cli.CommandFailure(
      `The database could not run the command: ${errors.reasonOf(error as Error)}. Try again. If that does not help, run posthorn doctor.`,
    );
  return error;
}

/** Returns the organization from the options. A malformed ID is a usage error, not an empty list. */
export function organizationOf({ organization }: cli.Options): string | undefined {
  return organization === undefined
    ? undefined
    : matching('organization', organization, identifierPattern.organization);
}

export function workspaceOf({ workspace }: cli.Options): string | undefined {
  return workspace === undefined ? undefined : matching('workspace', workspace, identifierPattern.workspace);
}

export function matching(option: string, text: string, pattern: string): string {
  if (new RegExp(pattern).test(text)) return text;
  throw cli.invalid(option, text, `${patternInWords(pattern)}`);
}

/** Returns the requested time range. */
export function rangeOf(options: cli.Options): { fromMs: number | undefined; toMs: number | undefined } {
  const [fromMs, toMs] = [timeOf('from', 'start', options), timeOf('to', 'end', options)];
  if (fromMs !== undefined && toMs !== undefined && fromMs > toMs)
    throw new cli.UsageError('--from must not be later than --to.');
  return { fromMs, toMs };
}

function timeOf(name: 'from' | 'to', edge: 'start' | 'end', options: cli.Options): number | undefined {
  const text = options[name];
  if (text === undefined) return undefined;
  const ms = parseInstantMs(cli.instantOf(text), edge);
  if (ms !== undefined) return ms;
  const time = 'a time with Z or an offset (2026-11-15T09:30:00Z)';
  throw cli.invalid(name, text, `a date (2026-11-15), ${time}, or how long ago (1h)`);
}

/** What happened to a statement that took too long. */
export const tooSlow = 'did not respond in time: it is busy, or another session holds a lock';

export interface OpenDatabase {
  database: Database;
  /** The embedded database, without DATABASE_URL. */
  embedded: EmbeddedDatabase | undefined;
  close: () => Promise<void>;
}

/** Opens the database, whether or not it is migrated. Starts the embedded database if it is not running. */
export async function openTarget(
  { databaseUrl, dataDir }: Config,
  purpose: 'serve' | 'command' = 'command',
): Promise<OpenDatabase> {
  const embedded = databaseUrl === undefined ? await openEmbedded(dataDir, purpose) : undefined;
  const database = new Database(embedded?.connection ?? { connectionString: databaseUrl ?? '' }, 2);
  const close = async () => {
    await database.close();
    await embedded?.close();
  };
  return { database, embedded, close };
}

/**
 * Opens the database, whether or not the service is running. Creates a database only with `onCreate`: in the wrong
 * directory, a command would report on an empty one. Never migrates the database of DATABASE_URL.
 */
export async function openDatabase(
  config: Config,
  onCreate?: (directory: string) => void,
): Promise<OpenDatabase> {
  const directory = resolve(config.dataDir);
  if (config.databaseUrl === undefined && !(await hasDatabase(directory))) {
    if (!onCreate)
      throw new cli.CommandFailure(
        `There is no database in ${directory}. Run the command in the directory of the service, or set ` +
          'POSTHORN_DATA_DIR or DATABASE_URL.',
      );
    onCreate(directory);
  }
  const opened = await openTarget(config);
  const { database, embedded } = opened;
  try {
    await database.detectPooler();
    if (!(await isMigrated(database))) {
      if (!embedded)
        throw new cli.CommandFailure(
          'The database has not been migrated to this version of Posthorn. Run posthorn migrate.',
        );
      await migrate(database);
    }
    return opened;
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** Runs `work` on the database that `openDatabase` opens. */
export async function withDatabase<T>(
  config: Config,
  work: (database: Database) => Promise<T>,
  onCreate?: (directory: string) => void,
): Promise<T> {
  const { database, close } = await openDatabase(config, onCreate);
  return work(database).finally(close);
}

const authorityCodes = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/**
 * Returns what to do if TLS, the login or the name of the database is why connecting failed. `source` names the setting
 * or option with the URL.
 */
export function connectAdvice(error: unknown, source: string): string | undefined {
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (authorityCodes.has(code))
    return `If a private authority issued PostgreSQL's certificate, add sslrootcert=/path/to/ca.pem to ${source}.`;
  if (message.includes('does not support SSL'))
    return `Turn on TLS in PostgreSQL, or remove the TLS parameters, such as sslmode, from ${source}.`;
  if (message.includes('pg_hba.conf')) return `Allow the connection in pg_hba.conf, or correct ${source}.`;
  if (code === '28P01' || code === '28000') return `Correct the user or password in ${source}.`;
  if (code === '3D000') return `Create the database, or correct its name in ${source}.`;
  return undefined;
}

/** Returns why the database that `name` names cannot be reached, in one line; undefined if that is not the problem. */
export function unreachableFailure(
  error: unknown,
  name: string,
  source: string,
  advice: string,
): cli.CommandFailure | undefined {
  if (errors.isTooSlow(error)) return new cli.CommandFailure(`The ${name} ${tooSlow}. Try again.`);
  if (errors.isRefusedWrite(error) || !(errors.isUnreachable(error) || errors.isConnectFailure(error)))
    return undefined;
  const reason = errors.reasonOf(error as Error);
  return new cli.CommandFailure(
    `Cannot connect to the ${name}: ${reason}. ${connectAdvice(error, source) ?? advice}`,
  );
}

/** Fails with one line if a command reads the data of an organization that lives in another cell. */
export async function requireHere(database: Database, organizationId: string): Promise<void> {
  const relocation = await readRelocation(database, organizationId);
  const problem = relocation && relocationProblem(relocation, false);
  if (problem)
    throw failureFor(organizationId, { cell: relocation.cell, isMoving: problem.code !== 'wrong_cell' });
}

/** Waits for a write. Fails with one line if the organization, which `whose` names, lives in another cell. */
export async function writtenHere<T>(whose: string, write: Promise<T>): Promise<T> {
  return write.catch((error) => {
    const refusal = errors.refusalOf(error);
    throw refusal ? failureFor(whose, refusal) : error;
  });
}

function failureFor(
  whose: string,
  { cell, isMoving }: Omit<errors.Refusal, 'organizationId'>,
): cli.CommandFailure {
  return new cli.CommandFailure(
    isMoving
      ? `${whose} is moving to the cell ${cell}. Run the command again when the move has ended.`
      : `${whose} is in the cell ${cell}. Run the command with the DATABASE_URL of that cell.`,
  );
}
