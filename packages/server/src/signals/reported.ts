const reported = new WeakSet<object>();

/** Marks an error whose cause was logged already. */
export function markReported(error: object): void {
  reported.add(error);
}

/**
 * Returns the level at which to log what failed because of an error. If its cause was logged already, such as a lost
 * database, the consequences are details.
 */
export function levelFor(error: unknown): 'debug' | 'warn' {
  return typeof error === 'object' && error !== null && reported.has(error) ? 'debug' : 'warn';
}
