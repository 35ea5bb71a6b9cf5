/** Builds the console into dist, or does nothing if the last build had the same sources. */
export function buildConsole(): Promise<void>;
