import type { Terminal } from './terminal.js';

export interface Option {
  /** Names the value in the help; a flag has none. */
  value?: string;
  /** The words to complete, if `value` also names a placeholder, as in `now|id`. */
  choices?: readonly string[];
  description: string;
  required?: boolean;
  fallback?: string;
  /** Whether the option can be used several times. Its field gets a list. */
  repeats?: boolean;
  /** Options of one group are listed together, below this title. */
  group?: string;
  /** The name of its value among the fields. In a command of the API, the field or parameter that it sets. */
  field?: string;
  /** Returns the value for the text. Throws a UsageError if the text is not valid. Default: the text itself. */
  read?: (text: string, option: string) => unknown;
}

/** Returns an option that sets a field of the API. */
export function sets(field: string, value: string, description: string, read: Option['read'] = String) {
  return { field, value, description, read };
}

/** Additional rows for the help and the docs of a command. */
export interface Section {
  title: string;
  rows: readonly (readonly [string, string])[];
  /** What the docs show instead of the rows. */
  link?: string;
}

/** Describes one command. The parser, the help, the completion and docs/cli.md are generated from it. */
export interface Command {
  name: string;
  summary: string;
  argument?: Pick<Option, 'description' | 'field'> & { name: string; optional?: boolean };
  options: Readonly<Record<string, Option>>;
  sections?: () => readonly Section[];
  /** Returns whether to run the operator command of the same name, which reads the database. */
  readsDatabase?: (context: Context) => boolean;
  run: (context: Context) => Promise<void>;
}

export type Options = Readonly<Record<string, string | undefined>>;

// biome-ignore lint/suspicious/noExplicitAny: each command knows the types of the fields in its own table.
export type Fields = Readonly<Record<string, any>>;

export interface Context {
  /** The options from the command line; a flag that is set is 'true'. */
  options: Options;
  argument: string;
  /** What the options and the argument set in the API, by field. */
  fields: Fields;
  env: Record<string, string | undefined>;
  terminal: Terminal;
  /** Sends the requests of the command. By default, they go to the service, with a token. */
  fetch?: typeof globalThis.fetch;
  /** Standard input. */
  input: NodeJS.ReadableStream & { isTTY?: boolean };
  /** Stops a command that runs until it is stopped, as a process signal does. */
  stop?: AbortSignal | undefined;
}

/** Reports a wrong command line: exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError';
  readonly exitCode = 2;
}

/** Returns the error for an option with a value that it does not accept. */
export function invalid(option: string, text: string | undefined, expected: string): UsageError {
  return new UsageError(`--${option}: '${text}' is not valid. Expected ${expected}.`);
}

/** Reports an expected failure in one line that ends with what to do next: exit code 1. */
export class CommandFailure extends Error {
  override name = 'CommandFailure';
  readonly exitCode = 1;
}

/**
 * Returns the exit code of an expected failure. It looks at the field and not at the class, because the server may have
 * its own copy of this package.
 */
export function exitCodeOf(error: unknown): number | undefined {
  const { exitCode } = (error ?? {}) as { exitCode?: unknown };
  return error instanceof Error && typeof exitCode === 'number' ? exitCode : undefined;
}

/** Returns the usage in one line: the command with its required options. */
export function usageLine({ name, argument, options }: Command): string {
  const required = Object.entries(options)
    .filter(([, option]) => option.required)
    .map(([option, { value }]) => `--${option} ${value}`);
  const named = argument ? [argument.optional ? `[${argument.name}]` : `<${argument.name}>`] : [];
  return ['posthorn', name, ...named, ...required, '[options]'].join(' ');
}

/** Returns a text as one word of a shell command, with quotes if it needs them. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
