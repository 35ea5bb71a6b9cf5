import type { Context } from './command.js';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs work until it ends, or until a process signal or the caller of the program aborts it. */
export async function untilStopped(
  { stop: stopped }: Pick<Context, 'stop'>,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const abort = () => stop.abort();
  for (const name of signals) process.once(name, abort);
  stopped?.addEventListener('abort', abort);
  try {
    await work(stop.signal);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    for (const name of signals) process.removeListener(name, abort);
    stopped?.removeEventListener('abort', abort);
  }
}
