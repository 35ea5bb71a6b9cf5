import { connection, isReady, noteUnreachable } from '../api/connection';
import { tabStorage } from '../browser/storage';
import { t } from '../text/language';

const name = 'MissingPart';
const reloadedKey = 'posthorn.reloaded';
const reloadEveryMs = 60_000;

/** Names the errors of parts of the console that could not be loaded, and says what happened. */
export function nameMissingParts(): void {
  addEventListener('vite:preloadError', ({ payload }) => {
    // The router recognizes the error by its name and message, and would reload the page immediately. If the service is
    // unreachable, the console would be gone.
    payload.name = name;
    payload.message = t`This part of the console could not be loaded. The service may have been upgraded or may be restarting.`;
  });
}

export function isMissingPart(error: unknown): boolean {
  return error instanceof Error && error.name === name;
}

/**
 * Reloads the page as soon as the service responds, because a browser may not try again to load a part that failed to
 * load. Does so at most once per minute: if the files of a running service were replaced, it serves a page that refers
 * to files that are gone. Does not if the part is no longer wanted by then. Returns whether it does.
 */
export async function reloadWhenReachable(unwanted: AbortSignal): Promise<boolean> {
  await reachable();
  if (unwanted.aborted) return false;
  if (Date.now() - Number(tabStorage.get(reloadedKey)) < reloadEveryMs) return false;
  tabStorage.set(reloadedKey, String(Date.now()));
  location.reload();
  return true;
}

async function reachable(): Promise<void> {
  if (await isReady()) return;
  noteUnreachable(0);
  await new Promise<void>((resolve) => {
    const unsubscribe = connection.subscribe(() => {
      if (connection.get().kind !== 'up') return;
      unsubscribe();
      resolve();
    });
  });
}
