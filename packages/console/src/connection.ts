import { createStore } from './store';

/** Whether the service responds. */
export type Connection =
  | { kind: 'up' }
  | { kind: 'unreachable'; since: number }
  | { kind: 'rate_limited'; until: number };

export const connection = createStore<Connection>({ kind: 'up' });

const pollMs = 1_500;
let isWaiting = false;

/** Notes that a request did not reach the service, and polls until the service responds again. */
export function noteUnreachable(firstWaitMs: number): void {
  if (connection.get().kind !== 'unreachable') connection.set({ kind: 'unreachable', since: Date.now() });
  if (isWaiting) return;
  isWaiting = true;
  setTimeout(poll, Math.min(firstWaitMs, pollMs));
}

export function noteRateLimited(waitMs: number): void {
  if (connection.get().kind === 'unreachable') return;
  connection.set({ kind: 'rate_limited', until: Date.now() + waitMs });
  setTimeout(() => {
    const now = connection.get();
    if (now.kind === 'rate_limited' && now.until <= Date.now()) connection.set({ kind: 'up' });
  }, waitMs + 50);
}

async function poll(): Promise<void> {
  const isBack = await fetch('/readyz', { cache: 'no-store' }).then(
    (response) => response.ok,
    () => false,
  );
  if (!isBack) {
    setTimeout(poll, pollMs);
    return;
  }
  isWaiting = false;
  connection.set({ kind: 'up' });
}
