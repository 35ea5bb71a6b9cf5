import { onTestFinished } from 'vitest';
import { limits } from '../../src/engine/limits.js';
import { databaseLimits } from '../../src/postgres/database.js';
import { endSharedService } from './service.js';

/** Sets limits of the engine for the calling test. */
export function setLimits(changed: Partial<Record<keyof typeof limits, number>>): void {
  const before = { ...limits };
  Object.assign(limits, changed);
  onTestFinished(() => void Object.assign(limits, before));
}

/** Runs `work` with a short time limit for the statements that it starts, because some of them cannot end. */
export async function hurried<T>(work: () => Promise<T>): Promise<T> {
  const usual = { ...databaseLimits };
  Object.assign(databaseLimits, { queryMs: 500 });
  try {
    return await work();
  } finally {
    Object.assign(databaseLimits, usual);
  }
}

/**
 * Turns polls off for the calling test: what it finds within its time, no poll has found. Ends the shared service, whose
 * next poll would be an hour away for the tests that come later.
 */
export async function withoutPolls(): Promise<void> {
  await endSharedService();
  setLimits({ pollMs: 3_600_000 });
}
