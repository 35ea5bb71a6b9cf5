import type { Queryable } from '../postgres/database.js';

export interface RequestKey {
  organization_id: string;
  token_id: string;
  route: string;
  key: string;
}

const valuesOf = (held: RequestKey) => [held.organization_id, held.token_id, held.route, held.key];

/** An earlier request with the same key, and its response if there is one yet. */
export interface EarlierRequest {
  fingerprint: Buffer;
  status: number | null;
  body: string | null;
  location: string | null;
  /** Whether its write is committed, but its response has not been sent yet and still can be. */
  running: boolean;
}

export interface StoredResponse {
  status: number;
  body: string;
  location: string | null;
}

/**
 * Takes a key for a request. Returns the earlier request if the key was already taken in the last 24 hours, unless that
 * request began more than `abandonedMs` ago and still has no response. Uses the database's clock, because requests with
 * the same key can reach nodes whose clocks differ.
 */
export async function takeRequestKey(
  database: Queryable,
  key: RequestKey,
  fingerprint: Buffer,
  abandonedMs: number,
): Promise<EarlierRequest | undefined> {
  const { rowCount } = await database.query({
    text: `
  insert into posthorn.request_keys as k (organization_id, token_id, route, key, fingerprint, created_at)
  values ($1, $2, $3, $4, $5, clock_timestamp())
  on conflict (organization_id, token_id, route, key) do update
     set fingerprint = excluded.fingerprint, created_at = excluded.created_at,
         status = null, body = null, location = null, running = false
   where k.created_at <= excluded.created_at - interval '24 hours'
      or (k.status is null and k.created_at < excluded.created_at - make_interval(secs => $6 / 1000.0))`,
    values: [...valuesOf(key), fingerprint, abandonedMs],
  });
  if (rowCount === 1) return undefined;
  const { rows } = await database.query<EarlierRequest>({
    text: `
  select fingerprint, status, body, location,
         running and created_at >= clock_timestamp() - make_interval(secs => $5 / 1000.0) as running
    from posthorn.request_keys
   where organization_id = $1 and token_id = $2 and route = $3 and key = $4`,
    values: [...valuesOf(key), abandonedMs],
  });
  // The key was released between the two statements: the earlier request just failed, and a retry gets the key.
  return rows[0] ?? { fingerprint, status: null, body: null, location: null, running: false };
}

/** Stores the response to a request, which may still be running. */
export async function storeResponse(
  database: Queryable,
  key: RequestKey,
  { status, body, location }: StoredResponse,
  running = false,
): Promise<void> {
  await database.query({
    text: `
  update posthorn.request_keys
     set status = $5, body = $6, location = $7, running = $8
   where organization_id = $1 and token_id = $2 and route = $3 and key = $4`,
    values: [...valuesOf(key), status, body, location, running],
  });
}

/**
 * Releases the key of a request that failed, so that the request can be retried. If its write is committed, a retry gets
 * the response that was stored with it.
 */
export async function releaseRequestKey(database: Queryable, key: RequestKey): Promise<void> {
  await database.query({
    text: `
  with unwritten as (
    delete from posthorn.request_keys
     where organization_id = $1 and token_id = $2 and route = $3 and key = $4 and status is null
  )
  update posthorn.request_keys
     set running = false
   where organization_id = $1 and token_id = $2 and route = $3 and key = $4 and running`,
    values: valuesOf(key),
  });
}
