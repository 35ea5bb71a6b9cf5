import { useRouter } from '@tanstack/react-router';
import { useEffect, useMemo } from 'react';
import { EntryMemory } from './entry-memory';
import { type RangeSearch, rangeOf } from './range';
import { besideNames } from './search';

/** When each list was opened. */
const openedAt = new EntryMemory<number>();

/**
 * Returns the time range of a list. A range that ends now is counted back from the minute in which the list was opened:
 * with another start, it would be another list. When the user returns, the list still has the pages that it loaded.
 */
export function useListRange(search: RangeSearch & { live?: string }): { from?: string; to?: string } {
  const { history } = useRouter();
  const unrelated: readonly string[] = ['live', ...besideNames];
  const key = JSON.stringify(Object.entries(search).filter(([name]) => !unrelated.includes(name)));
  // biome-ignore lint/correctness/useExhaustiveDependencies: with other filters, it is a list that opens now
  const nowMs = useMemo(
    () => openedAt.get(history.location) ?? Math.floor(Date.now() / 60_000) * 60_000,
    [history, key],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` stands for the entry
  useEffect(() => openedAt.set(history.location, nowMs), [history, key, nowMs]);
  if (!search.range && !search.from) return {};
  const { fromMs, toMs } = rangeOf(search, nowMs);
  return {
    from: new Date(fromMs).toISOString(),
    ...(toMs !== undefined && { to: new Date(toMs).toISOString() }),
  };
}
