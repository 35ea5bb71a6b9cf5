import { setTimeout as delay } from 'node:timers/promises';
import { PosthornError } from '@posthorn/client';
import { CommandFailure } from './command.js';
import type { Terminal } from './terminal.js';

const waitMs = 1_000;
/** How long a service that restarts or is busy is asked again, and the longest wait between two requests. */
const patienceMs = 60_000;

/**
 * Returns what the service says about work that it does on its own. A service that is unavailable for a while is asked
 * again, because the work continues. `note` ends the message of a failure: it says that the work was started.
 */
export async function progressOf<T>(terminal: Terminal, ask: () => Promise<T>, note: string): Promise<T> {
  const untilMs = performance.now() + patienceMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof PosthornError)) throw error;
      if (!mayPass(error) || performance.now() >= untilMs)
        throw new CommandFailure(`${error.detail}\n${note}`);
      terminal.status(terminal.paint('dim', 'The service is not available. Trying again …'));
      await delay(Math.min(error.retryAfterMs ?? waitMs, patienceMs));
    }
  }
}

/** Returns whether the same request may succeed a little later. */
function mayPass({ status }: PosthornError): boolean {
  return [0, 429, 502, 503, 504].includes(status);
}
