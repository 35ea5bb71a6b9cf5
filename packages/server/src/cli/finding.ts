import { isConnectFailure, isTooSlow, isUnreachable, reasonOf } from '../postgres/database-errors.js';
import { connectAdvice, tooSlow } from './operator.js';

/** What to do about webhooks whose secrets no key decrypts. */
export const restoreKey =
  'Restore the missing key and add it to POSTHORN_SECRET_KEY, or rotate the secrets of the webhooks.';

export function webhooksText(count: number): string {
  return `${count} ${count === 1 ? 'webhook' : 'webhooks'}`;
}

/** The result of one check of the doctor. */
export interface Finding {
  check: string;
  state: 'ok' | 'warning' | 'problem';
  detail: string;
  /** What to do about it; null if there is nothing to do. */
  remedy: string | null;
}

export function fine(check: string, detail: string): Finding {
  return { check, state: 'ok', detail, remedy: null };
}

export function warning(check: string, detail: string, remedy: string): Finding {
  return { check, state: 'warning', detail, remedy };
}

export function problem(check: string, detail: string, remedy: string): Finding {
  return { check, state: 'problem', detail, remedy };
}

/** Reports why the database of a setting cannot be used. Throws any other error again. */
export function unusable(check: string, setting: string, error: unknown): Finding {
  if (isTooSlow(error))
    return problem(check, tooSlow, 'Wait until it is less busy, or end the session that holds the lock.');
  if (!isUnreachable(error) && !isConnectFailure(error)) throw error;
  const remedy = connectAdvice(error, setting) ?? `Start PostgreSQL, or correct ${setting}.`;
  return problem(check, `cannot connect: ${reasonOf(error as Error)}`, remedy);
}
