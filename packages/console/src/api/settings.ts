import { queryOptions, useQuery } from '@tanstack/react-query';
import { t } from '../text/language';

/** What the operator set for the console and the portal. */
export interface Settings {
  name: string | null;
  accent: string | null;
  logo: string | null;
  version: string;
  retention_days: number;
  retry_waits_ms: number[];
}

const fallback: Settings = {
  name: null,
  accent: null,
  logo: null,
  version: '',
  retention_days: 90,
  retry_waits_ms: [5_000, 300_000, 3_600_000, 43_200_000],
};

const settingsQuery = queryOptions({
  queryKey: ['settings'],
  queryFn: async ({ signal }): Promise<Settings> => {
    const response = await fetch('/console/settings.json', { signal, credentials: 'omit' });
    if (!response.ok)
      throw new Error(t`The settings could not be read: the response had status ${response.status}.`);
    return { ...fallback, ...(await response.json()) };
  },
  staleTime: Number.POSITIVE_INFINITY,
});

export function useSettings(): Settings {
  return useQuery(settingsQuery).data ?? fallback;
}

/** A receiver can ask for a wait of up to this, or up to the longest scheduled wait if that is longer. */
const askedMsMax = 4 * 3_600_000;
/** A scheduled wait can be 20% longer, and the attempts take a while themselves. */
const longerMax = 1.2;
const attemptsMs = 600_000;

/**
 * Returns the earliest time at which a delivery that failed since a given time can have been created. A delivery that
 * also waited for something else, such as a rate limit or a verification, can be older. The statistics count a failure
 * when it happens, but deliveries are listed by the time they were created.
 */
export function createdSince(failedSinceMs: number, { retry_waits_ms: waitsMs }: Settings): string {
  const askedMs = Math.max(askedMsMax, ...waitsMs);
  const waitedMs = waitsMs.reduce((sum, ms) => sum + Math.max(ms * longerMax, askedMs), 0);
  return new Date(failedSinceMs - waitedMs - attemptsMs).toISOString();
}

/** Returns the filters for what failed since a given time. `failed_from` explains why the list starts earlier. */
export function failedSince(fromMs: number, settings: Settings): { from: string; failed_from: string } {
  return { from: createdSince(fromMs, settings), failed_from: new Date(fromMs).toISOString() };
}

export function productName(settings: Settings): string {
  return settings.name ?? 'Posthorn';
}
