const reported = new WeakSet<object>();

/** Marks an error whose cause has already been logged. */
export function markReported(error: object): void {
  reported.add(error);
}

/**
 * Returns the log level for something that failed because of this error: `debug` if the cause was already
 * logged, such as a lost database connection, or else `warn`.
 */
export function levelFor(error: unknown): 'debug' | 'warn' {
  return typeof error === 'object' && error !== null && reported.has(error) ? 'debug' : 'warn';
}
