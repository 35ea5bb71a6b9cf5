import { createStore } from './store';

/** Whether the service responds. */
export type Connection = { kind: 'up' } | { kind: 'away'; since: number } | { kind: 'slowed'; until: number };

export const connection = createStore<Connection>({ kind: 'up' });

const pollMs = 1_500;
let isWaiting = false;

/** Notes that a request did not reach the service, and waits for its return. */
export function noteAway(firstWaitMs: number): void {
  if (connection.get().kind !== 'away') connection.set({ kind: 'away', since: Date.now() });
  if (isWaiting) return;
  isWaiting = true;
  setTimeout(lookAgain, Math.min(firstWaitMs, pollMs));
}

export function noteSlowed(waitMs: number): void {
  if (connection.get().kind === 'away') return;
  connection.set({ kind: 'slowed', until: Date.now() + waitMs });
  setTimeout(() => {
    const now = connection.get();
    if (now.kind === 'slowed' && now.until <= Date.now()) connection.set({ kind: 'up' });
  }, waitMs + 50);
}

async function lookAgain(): Promise<void> {
  const isBack = await fetch('/readyz', { cache: 'no-store' }).then(
    (response) => response.ok,
    () => false,
  );
  if (!isBack) {
    setTimeout(lookAgain, pollMs);
    return;
  }
  isWaiting = false;
  connection.set({ kind: 'up' });
}
