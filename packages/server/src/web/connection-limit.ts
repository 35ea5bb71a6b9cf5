import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';

/** Enough for any load of one process. An idle connection takes about 10 kB. */
const connectionsMax = 10_000;
const warnEveryMs = 60_000;

/**
 * Limits how many connections a listener accepts, so that clients without a token can exhaust neither the memory of the
 * process nor the files that it may open: deliveries, the database and the other listener keep half of them. Closes
 * further connections at once, and calls `onRefused` with the limit at most once a minute.
 */
export function limitConnections(server: Server, onRefused: (max: number) => void, files = filesMax()): void {
  const max = Math.min(connectionsMax, Math.floor(files / 2));
  server.maxConnections = max;
  let warnedAtMs = Number.NEGATIVE_INFINITY;
  server.on('drop', () => {
    if (performance.now() - warnedAtMs < warnEveryMs) return;
    warnedAtMs = performance.now();
    onRefused(max);
  });
}

/** Returns how many files this process may open, or infinity if the system does not say. */
function filesMax(): number {
  try {
    const [, max] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return max === undefined ? Number.POSITIVE_INFINITY : Number(max);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
