import type { Config, SettingName } from '../config.js';
import type { Terminal } from './terminal.js';

interface Option {
  /** Names the value in the help; a flag has none. */
  value?: string;
  description: string;
  required?: boolean;
  fallback?: string;
}

/** Describes one command. The parser, the help and docs/cli.md are generated from it. */
export interface Command {
  name: string;
  summary: string;
  argument?: { name: string; description: string };
  options: Readonly<Record<string, Option>>;
  /** Lists the settings in the help of this command. */
  showsSettings?: boolean;
  /** Replaces the defaults of settings that are not set. */
  fallbacks?: Partial<Record<SettingName, string>>;
  run: (context: Context) => Promise<void>;
}

export interface Context {
  /** The options from the command line; a flag that is set is 'true'. */
  options: Readonly<Record<string, string | undefined>>;
  argument: string;
  env: Record<string, string | undefined>;
  config: Config;
  terminal: Terminal;
}

/** Reports a wrong command line: exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** Reports an expected failure in one line: exit code 1. */
export class CommandFailure extends Error {
  override name = 'CommandFailure';
}
