import { Posthorn } from '@posthorn/client';
import { endSession, session, tokenOf } from '../session/session';
import { t } from '../text/language';
import { noteRateLimited, noteUnavailable, noteUnreachable } from './connection';

/** Longer than a test may take: the longest delivery timeout that an operator can set. */
const timeoutMs = 11 * 60_000;

const tokenNow = () => tokenOf(session.get()) ?? '';

/**
 * The public API, with the token of this tab. It never repeats a request on its own: the views decide how to
 * wait.
 */
export const posthorn = new Posthorn({
  url: location.origin,
  token: tokenNow,
  retry: { attempts: 1 },
  timeoutMs,
  fetch: watchedFetch,
});

/** Sends a request, and notes what its response says about the connection and the session. */
async function watchedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const token = tokenNow();
  let response: Response;
  try {
    response = await fetch(input, { ...init, credentials: 'omit', cache: 'no-store' });
  } catch (error) {
    if (!init?.signal?.aborted) noteUnreachable(1_000);
    throw error;
  }
  const waitMs = Number(response.headers.get('retry-after') ?? 1) * 1_000 || 1_000;
  if (response.status === 401) endSession(token, await detailOf(response.clone()));
  else if (response.status === 429) noteRateLimited(waitMs);
  else if (response.status === 503) await noteUnavailable(response.headers.get('x-request-id'), waitMs);
  else if (response.status >= 502 && response.status <= 504) noteUnreachable(waitMs);
  return response;
}

async function detailOf(response: Response): Promise<string> {
  const problem = await response.json().catch(() => undefined);
  return problem?.detail ?? t`The token was not accepted.`;
}
