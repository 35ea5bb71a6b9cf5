import { type AuditOrigin, changesBetween, entryAbout } from '../audit/audit.js';
import { auditedWrite, writeAudit } from '../audit/audit-store.js';
import type { Relocation } from '../cells/relocation-store.js';
import type { Database, Queryable } from '../postgres/database.js';
import { type Scope, sameHash, type Token, tokenHash } from './token.js';

interface TokenRow extends Omit<Token, 'actor' | 'scopes'> {
  actor_type: string;
  actor_id: string;
  scopes: string[];
  hash: Buffer;
}

const columns = `id, organization_id, workspace_id, hash, scopes, actor_type, actor_id, created_at, expires_at,
         revoked_at, last_used_at, portal`;

/** Creates a token with its audit log entry, on behalf of the actor in `origin`. `text` is what its holder sends. */
export async function createToken(
  database: Database,
  token: Token,
  text: string,
  origin: AuditOrigin,
): Promise<void> {
  const { scopes, actor, expires_at } = token;
  await auditedWrite(database, token.organization_id, async (client) => {
    await insertToken(client, token, tokenHash(text));
    const action = token.portal ? 'portal_session.created' : 'token.created';
    const changes = changesBetween(undefined, { scopes, actor, expires_at });
    await writeAudit(client, [entryAbout('token', token, action, changes, origin)]);
  });
}

/** Revokes a token. Returns it and whether this call revoked it, or undefined if it does not exist. */
export async function revokeToken(
  database: Database,
  id: string,
  now: Date,
  origin: AuditOrigin,
): Promise<{ token: Token; isRevokedNow: boolean } | undefined> {
  const known = await readToken(database, id);
  if (!known || known.revoked_at) return known && { token: known, isRevokedNow: false };
  return auditedWrite(database, known.organization_id, async (client) => {
    const revoked = await markRevoked(client, id, now);
    // Another request revoked it in the meantime.
    if (!revoked) return { token: known, isRevokedNow: false };
    const changes = changesBetween(undefined, { revoked_at: revoked.revoked_at });
    await writeAudit(client, [entryAbout('token', revoked, 'token.revoked', changes, origin)]);
    return { token: revoked, isRevokedNow: true };
  });
}

export async function insertToken(database: Queryable, token: Token, hash: Buffer): Promise<void> {
  const { organization_id, id, workspace_id, scopes, actor, created_at, expires_at, portal } = token;
  const actorValues = [actor.type, actor.id];
  await database.query({
    text: `
  insert into posthorn.tokens
         (organization_id, id, workspace_id, hash, scopes, actor_type, actor_id, created_at, expires_at, portal)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    values: [organization_id, id, workspace_id, hash, scopes, ...actorValues, created_at, expires_at, portal],
  });
}

/** A token, and whether its organization is moving or has moved to another cell. */
export interface FoundToken {
  token: Token;
  relocation: Relocation | undefined;
}

export async function findToken(database: Queryable, hash: Buffer): Promise<FoundToken | undefined> {
  const { rows } = await database.query<TokenRow & { state: Relocation['state'] | null; cell: string }>({
    name: 'token by hash',
    text: `
  select t.*, o.name as organization_name, r.state, r.cell
    from (select ${columns} from posthorn.tokens where hash = $1) t
    left join posthorn.organizations o on o.organization_id = t.organization_id
    left join posthorn.relocations r on r.organization_id = t.organization_id`,
    values: [hash],
  });
  if (!rows[0] || !sameHash(rows[0].hash, hash)) return undefined;
  const { state, cell, ...row } = rows[0];
  return { token: tokenOf(row), relocation: state === null ? undefined : { state, cell } };
}

async function readToken(database: Queryable, id: string): Promise<Token | undefined> {
  const { rows } = await database.query<TokenRow>({
    text: `select ${columns} from posthorn.tokens where id = $1`,
    values: [id],
  });
  return rows[0] && tokenOf(rows[0]);
}

/** Lists a page of tokens, newest first, after the token `after`, optionally only those of one organization. */
export async function listTokenPage(
  database: Queryable,
  organizationId: string | undefined,
  after: string | undefined,
  limit: number,
): Promise<readonly Token[]> {
  const { rows } = await database.query<TokenRow>({
    text: `
  select ${columns}
    from posthorn.tokens
   where ($1::text is null or organization_id = $1) and ($2::text is null or id < $2)
   order by id desc
   limit $3`,
    values: [organizationId ?? null, after ?? null, limit],
  });
  return rows.map(tokenOf);
}

/** Revokes a token and returns it. Returns undefined if it was already revoked or does not exist. */
export async function markRevoked(database: Queryable, id: string, now: Date): Promise<Token | undefined> {
  const { rows } = await database.query<TokenRow>({
    text: `
  update posthorn.tokens
     set revoked_at = $2
   where id = $1 and revoked_at is null
  returning ${columns}`,
    values: [id, now],
  });
  return rows[0] && tokenOf(rows[0]);
}

/** Stores when tokens were last used, many in one statement. Locks them in the same order as other nodes do. */
export async function touchTokens(database: Queryable, lastUsed: ReadonlyMap<string, Date>): Promise<void> {
  if (lastUsed.size === 0) return;
  await database.query({
    text: `
  with locked as materialized (
    select id from posthorn.tokens where id = any ($1) order by id for no key update
  )
  update posthorn.tokens t
     set last_used_at = greatest(t.last_used_at, u.at)
    from locked l
    join unnest($1::text[], $2::timestamptz[]) as u (id, at) on u.id = l.id
   where t.id = l.id`,
    values: [[...lastUsed.keys()], [...lastUsed.values()]],
  });
}

function tokenOf({ actor_type, actor_id, hash: _, scopes, ...rest }: TokenRow): Token {
  return { ...rest, scopes: scopes as Scope[], actor: { type: actor_type, id: actor_id } };
}
