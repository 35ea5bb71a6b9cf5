import { useSyncExternalStore } from 'react';

/** One clock for all relative times and countdowns. It ticks once per second while something shows it. */
const listeners = new Set<() => void>();
let nowMs = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function tick(): void {
  nowMs = Date.now();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (timer === undefined) {
    nowMs = Date.now();
    timer = setInterval(tick, 1_000);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Returns the current time, rounded down to `stepMs`: the component renders again once per step. */
export function useNow(stepMs = 1_000): number {
  return useSyncExternalStore(subscribe, () => Math.floor(nowMs / stepMs) * stepMs);
}

/** Returns whether a time has passed: the component renders again only once, when it has. */
export function useIsPast(atMs: number): boolean {
  return useSyncExternalStore(subscribe, () => nowMs >= atMs);
}
