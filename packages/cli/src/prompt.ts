import { text as readAll } from 'node:stream/consumers';
import { CommandFailure, type Context } from './command.js';

// The prompts are loaded only if they are needed: most commands never ask.
const prompts = () => import('@clack/prompts');

/** Asks for a line of text. */
export async function promptText(message: string, suggested: string): Promise<string> {
  const { text, isCancel } = await prompts();
  const value = await text({ message, placeholder: suggested, defaultValue: suggested });
  if (isCancel(value)) throw new CommandFailure('Canceled.');
  return value;
}

/** Asks for a token without showing it, or reads it from standard input if that is not a terminal. */
export async function promptToken({ input, terminal }: Context): Promise<string> {
  if (!input.isTTY || !terminal.isInteractive) return readAll(input);
  const { password, isCancel } = await prompts();
  const value = await password({ message: 'Access token' });
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
    throw new CommandFailure(`${question} Nothing was done: add --yes to confirm.`);
  const { confirm, isCancel } = await prompts();
  const value = await confirm({ message: question, initialValue: false });
  if (isCancel(value) || !value) throw new CommandFailure('Canceled. Nothing was done.');
}
