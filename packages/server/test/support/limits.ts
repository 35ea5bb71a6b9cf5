import { onTestFinished } from 'vitest';
import { limits } from '../../src/delivery/limits.js';

/** Sets limits of the engine for the calling test. */
export function setLimits(changed: Partial<Record<keyof typeof limits, number>>): void {
  const before = { ...limits };
  Object.assign(limits, changed);
  onTestFinished(() => void Object.assign(limits, before));
}

/** What a test finds within its time, no poll has found. */
export function withoutPolls(): void {
  setLimits({ pollMs: 3_600_000 });
}
