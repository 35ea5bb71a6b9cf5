import { PosthornError } from '@posthorn/client';
import { type Command, CommandFailure } from './command.js';
import { failureText } from './failure.js';

/** Returns the error of a request. If the request may still have taken effect, adds `note`. */
export function uncertain(error: unknown, command: Command, note: string): unknown {
  if (!(error instanceof PosthornError)) return error;
  const isRunning = error.code === 'idempotency_in_progress';
  if (!isRunning && error.status !== 0 && error.status < 500) return error;
  return new CommandFailure(`${failureText(error, command)}\n${note}`);
}
