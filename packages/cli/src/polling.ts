import { setTimeout as delay } from 'node:timers/promises';
import { PosthornError } from '@posthorn/client';
import { CommandFailure } from './command.js';
import type { Terminal } from './terminal.js';

const waitMs = 1_000;
/** How long to retry while the service is restarting or busy, and the longest wait between two requests. */
const retryForMs = 60_000;

/**
 * Returns what the service reports about work that runs in the background. Retries if the service is unavailable for a
 * while, because the work continues. `note` ends an error message: it says that the work was started.
 */
export async function progressOf<T>(terminal: Terminal, read: () => Promise<T>, note: string): Promise<T> {
  const untilMs = performance.now() + retryForMs;
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof PosthornError)) throw error;
      // The same request may succeed a little later.
      const mayPass = [0, 429, 502, 503, 504].includes(error.status);
      if (!mayPass || performance.now() >= untilMs) throw new CommandFailure(`${error.detail}\n${note}`);
      terminal.status(terminal.paint('dim', 'The service is unavailable. Trying again…'));
      await delay(Math.min(error.retryAfterMs ?? waitMs, retryForMs));
    }
  }
}
