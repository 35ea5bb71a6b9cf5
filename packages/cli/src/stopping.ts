import type { Context } from './command.js';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs work until it ends, or until a process signal or the caller of the program aborts it. */
export async function untilStopped(
  { stop }: Pick<Context, 'stop'>,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const interrupted = new AbortController();
  const signal = stop ? AbortSignal.any([interrupted.signal, stop]) : interrupted.signal;
  const abort = () => interrupted.abort();
  for (const name of signals) process.once(name, abort);
  try {
    await work(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    for (const name of signals) process.removeListener(name, abort);
  }
}
