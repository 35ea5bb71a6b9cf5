import type { Token } from '@posthorn/client';
import { tabStorage } from './browser-storage';

const key = 'posthorn.typed';

interface Kept {
  /** Nobody else is shown what was typed. */
  owner: string;
  form: string;
  values: unknown;
}

const ownerOf = ({ organization_id, workspace_id }: Token) => `${organization_id} ${workspace_id ?? ''}`;

function kept(): Kept | undefined {
  const text = tabStorage.get(key);
  return text ? JSON.parse(text) : undefined;
}

/**
 * Keeps what was typed into a form until the user has signed in again. It is in the storage of this tab, next to the
 * token, because a session of the portal starts with another load of the page.
 */
export function keepTyped(form: string, token: Token, values: unknown): void {
  tabStorage.set(key, JSON.stringify({ owner: ownerOf(token), form, values } satisfies Kept));
}

/** Returns what was typed into a form when the last session ended. */
export function typedInto<T>(form: string, token: Token): T | undefined {
  const typed = kept();
  return typed?.form === form && typed.owner === ownerOf(token) ? (typed.values as T) : undefined;
}

export function isTypedKept(): boolean {
  return kept() !== undefined;
}

/** Forgets what was typed into a form, or into any. */
export function forgetTyped(form?: string): void {
  if (form === undefined || kept()?.form === form) tabStorage.remove(key);
}
