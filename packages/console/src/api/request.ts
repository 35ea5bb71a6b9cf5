import { noteAway, noteSlowed } from '../connection';
import { endSession, session } from '../session';
import { ApiProblem, ServiceAway } from './problem';

export type Query = Record<string, string | number | boolean | null | undefined>;

/** Builds a path with a query of everything that has a value. */
export function pathWith(path: string, query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value));
  }
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

function tokenNow(): string {
  const now = session.get();
  return now.kind === 'open' ? now.token : '';
}

/** Sends a request with the tab's token. Throws an ApiProblem or ServiceAway for everything but success. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const token = tokenNow();
  const headers = new Headers(init.headers);
  headers.set('authorization', `Bearer ${token}`);
  if (typeof init.body === 'string') headers.set('content-type', 'application/json');
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers, credentials: 'omit', cache: 'no-store' });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw away(1_000);
  }
  if (response.ok) return response;
  throw await problemOf(response, token);
}

async function problemOf(response: Response, token: string): Promise<Error> {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  const retryAfterMs = Number.isFinite(seconds) ? seconds * 1_000 : undefined;
  if (response.status === 502 || response.status === 503 || response.status === 504) {
    return away(retryAfterMs ?? 1_000);
  }
  const body = await response.json().catch(() => ({}));
  const requestId = response.headers.get('x-request-id');
  const problem = new ApiProblem(
    response.status,
    requestId ? { request_id: requestId, ...body } : body,
    retryAfterMs,
  );
  if (problem.status === 401) endSession(token, problem.message);
  if (problem.status === 429) noteSlowed(problem.retryAfterMs ?? 1_000);
  return problem;
}

function away(retryAfterMs: number): ServiceAway {
  noteAway(retryAfterMs);
  return new ServiceAway(retryAfterMs);
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await send(path, signal ? { signal } : {});
  return response.json();
}

export async function getText(path: string, signal?: AbortSignal): Promise<string> {
  const response = await send(path, signal ? { signal } : {});
  return response.text();
}

/** Sends a write. With a key, a repetition of the same request has no second effect. */
export async function write<T>(
  method: 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
  key?: string,
): Promise<T> {
  const response = await send(path, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(key !== undefined && { headers: { 'idempotency-key': key } }),
  });
  return response.status === 204 ? (undefined as T) : response.json();
}
