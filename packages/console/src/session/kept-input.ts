import type { Token } from '@posthorn/client';
import { tabStorage } from '../browser/storage';

const key = 'posthorn.typed';

interface Kept {
  /** Only the same organization and workspace may see the input. */
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
 * token, because a new portal session loads the page again.
 */
export function keepInput(form: string, token: Token, values: unknown): void {
  tabStorage.set(key, JSON.stringify({ owner: ownerOf(token), form, values } satisfies Kept));
}

/** Returns what was typed into a form when the last session ended. */
export function keptInput<T>(form: string, token: Token): T | undefined {
  const input = kept();
  return input?.form === form && input.owner === ownerOf(token) ? (input.values as T) : undefined;
}

export function hasKeptInput(): boolean {
  return kept() !== undefined;
}

/** Forgets what was typed into this form, or into any form. */
export function forgetInput(form?: string): void {
  if (form === undefined || kept()?.form === form) tabStorage.remove(key);
}
