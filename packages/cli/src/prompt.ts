import type { Readable, Writable } from 'node:stream';
import { text as readAll } from 'node:stream/consumers';
import { CommandFailure, type Context, UsageError } from './command.js';
import { escaped } from './terminal.js';

// The prompts are loaded only if they are needed: most commands never ask.
const prompts = () => import('@clack/prompts');

/** Returns the streams for a prompt; undefined if there is no terminal. */
function streamsOf({ input, terminal }: Context): { input: Readable; output: Writable } | undefined {
  const output = terminal.promptOutput;
  if (!input.isTTY || !output) return undefined;
  return { input: input as Readable, output: output as Writable };
}

/** Returns whether there is a terminal to prompt on. */
export function canPrompt(context: Context): boolean {
  return streamsOf(context) !== undefined;
}

/** Asks for a line of text. Without a terminal, returns the suggestion. */
export async function promptText(context: Context, message: string, suggested: string): Promise<string> {
  const streams = streamsOf(context);
  if (!streams) return suggested;
  const { text, isCancel } = await prompts();
  const value = await text({ message, placeholder: suggested, defaultValue: suggested, ...streams });
  if (isCancel(value)) throw new CommandFailure('Canceled.');
  return value;
}

/** Asks for a text without showing it, or reads it from standard input if that is not a terminal. */
export async function promptHidden(context: Context, message: string): Promise<string> {
  if (!context.input.isTTY) return readAll(context.input);
  const streams = streamsOf(context);
  if (!streams)
    throw new CommandFailure(
      'Cannot prompt for the token because the output is redirected. Pass the token on standard input instead.',
    );
  const { password, isCancel } = await prompts();
  const value = await password({ message, ...streams });
  if (isCancel(value)) throw new CommandFailure('Canceled. Nothing was stored.');
  return value ?? '';
}

/** Asks before something that cannot be undone. Without a terminal, `--yes` is required. */
export async function requireConfirmation(
  { input, terminal, options }: Context,
  question: string,
): Promise<void> {
  if (options.yes) return;
  if (!input.isTTY || !terminal.isInteractive)
    throw new UsageError(`${question} Nothing was done: add --yes to confirm.`);
  const { confirm, isCancel } = await prompts();
  const value = await confirm({ message: escaped(question), initialValue: false });
  if (isCancel(value) || !value) throw new CommandFailure('Canceled. Nothing was done.');
}
