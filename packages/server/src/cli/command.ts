import type { Config, SettingName } from '../config.js';
import type { Terminal } from './terminal.js';

interface Option {
  /** Shown as the value's name in help; a flag without one takes no value. */
  value?: string;
  description: string;
  required?: boolean;
  fallback?: string;
}

/** One command, from which its parser, its help and its page in the docs are made. */
export interface Command {
  name: string;
  summary: string;
  argument?: { name: string; description: string };
  options: Readonly<Record<string, Option>>;
  /** The settings of the environment are part of this command's help. */
  showsSettings?: boolean;
  /** What stands in for settings that are not set, where it is not what the table of settings says. */
  fallbacks?: Partial<Record<SettingName, string>>;
  run: (context: Context) => Promise<void>;
}

export interface Context {
  /** Options as given; a flag that is set is 'true'. */
  options: Readonly<Record<string, string | undefined>>;
  argument: string;
  env: Record<string, string | undefined>;
  config: Config;
  terminal: Terminal;
}

/** The command line was wrong: exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** What was asked for could not be done, for a reason worth one line: exit code 1. */
export class CommandFailure extends Error {
  override name = 'CommandFailure';
}
