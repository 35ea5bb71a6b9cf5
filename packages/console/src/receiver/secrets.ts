import { createStore, useStore } from '../browser/store';
import { t } from '../text/language';

/**
 * Secrets that this page has just generated, by webhook. They are in memory only: the code sample shows them until the
 * page is closed or reloaded.
 */
export const freshSecrets = new Map<string, string>();

export const gracePeriods = [
  { key: '0s', label: t`None` },
  { key: '1h', label: t`1 hour` },
  { key: '24h', label: t`24 hours` },
  { key: '7d', label: t`7 days` },
] as const;

/** A rotation of a secret, as it is sent. Sent again with the same key, it has no further effect. */
export interface Rotation {
  secret: string;
  grace: (typeof gracePeriods)[number]['key'];
  key: string;
}

/**
 * Rotations that were sent but whose outcome is unknown, by webhook. Their secrets may be in effect, so they must not be
 * lost. They are in memory only, like the fresh secrets.
 */
const rotations = createStore<Readonly<Record<string, Rotation | undefined>>>({});

/** Remembers a rotation, or forgets the one there is. */
export function keepRotation(webhookId: string, rotation: Rotation | undefined): void {
  rotations.set({ ...rotations.get(), [webhookId]: rotation });
}

export function useUnresolvedRotation(webhookId: string): Rotation | undefined {
  return useStore(rotations)[webhookId];
}
