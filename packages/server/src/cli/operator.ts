import { EmbeddedUnavailable } from '@posthorn/embedded';
import * as cli from 'posthorn';
import * as errors from '../postgres/database-errors.js';
import { type Config, readConfig, type SettingName, settings } from '../settings/config.js';
import { identifierPattern } from '../values/identifier.js';
import { parseInstantMs } from '../values/instant.js';
import { OperatorError } from '../values/operator-error.js';
import { patternInWords } from '../values/pattern.js';
import { unreachableFailure } from './with-database.js';

/** A command that works on the database or runs the service: it gets the settings. */
export interface OperatorCommand extends Omit<cli.Command, 'run' | 'sections'> {
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
export function operatorCommand({
  showsSettings,
  fallbacks = {},
  run,
  ...command
}: OperatorCommand): cli.Command {
  return {
    ...command,
    sections: () => [...fallbackSections(fallbacks), ...(showsSettings ? [settingsSection()] : [])],
    run: async (context) => {
      const { options } = context;
      const loopback = options['allow-loopback'] ? { egressAllow: '127.0.0.0/8,::1/128' } : {};
      const { processes } = options;
      if (processes !== undefined && settings.processes.parse(processes) === undefined)
        throw new cli.UsageError(
          `--processes: '${processes}' is not valid. Expected ${settings.processes.accepts}.`,
        );
      const given = processes === undefined ? {} : { POSTHORN_PROCESSES: processes };
      try {
        const config = readConfig({ ...context.env, ...given }, { ...fallbacks, ...loopback });
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
  throw new cli.UsageError(`--${option}: '${text}' is not valid. Expected ${patternInWords(pattern)}.`);
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
  if (ms === undefined)
    throw new cli.UsageError(
      `--${name}: '${text}' is not valid. Expected a date (2026-11-15), a time with Z or an offset (2026-11-15T09:30:00Z), ` +
        'or how long ago (1h).',
    );
  return ms;
}
