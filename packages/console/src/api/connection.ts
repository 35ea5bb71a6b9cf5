import { createStore } from '../browser/store';

/** Whether the service responds. */
export type Connection =
  | { kind: 'up' }
  | { kind: 'unreachable'; since: number }
  | { kind: 'rate_limited'; until: number };

export const connection = createStore<Connection>({ kind: 'up' });

const pollMs = 1_500;
let isWaiting = false;
const refused = new Set<string>();

/**
 * Notes that a request got 503. If the service is still ready, only the request was refused, and its error says more
 * than "unreachable".
 */
export async function noteUnavailable(requestId: string | null, waitMs: number): Promise<void> {
  const isOther = connection.get().kind !== 'unreachable' && requestId !== null && (await isReady());
  if (isOther) refused.add(requestId);
  else noteUnreachable(waitMs);
}

/** Returns whether a request got 503 while the service was ready. */
export function wasRefused(requestId: string | undefined): boolean {
  return requestId !== undefined && refused.has(requestId);
}

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

export function isReady(): Promise<boolean> {
  return fetch('/readyz', { cache: 'no-store' }).then(
    (response) => response.ok,
    () => false,
  );
}

async function poll(): Promise<void> {
  if (!(await isReady())) {
    setTimeout(poll, pollMs);
    return;
  }
  isWaiting = false;
  connection.set({ kind: 'up' });
}
