import type { Queryable } from './database.js';

type Scan = 'seqscan' | 'indexscan' | 'indexonlyscan';

/**
 * Keeps PostgreSQL from using these scans until the transaction ends, if there is another way. Also turns off
 * just-in-time compilation: before PostgreSQL 18, a disabled scan that is used anyway makes a plan look so expensive
 * that it is compiled for each execution, which takes up to 0.3 s.
 */
export async function avoidScans(client: Queryable, scans: readonly Scan[] = ['seqscan']): Promise<void> {
  const disabled = scans.map((scan) => `set local enable_${scan} = off`);
  await client.query({ text: ['set local jit = off', ...disabled].join('; ') });
}
