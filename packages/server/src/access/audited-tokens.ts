import { type AuditOrigin, changesBetween, type NewAuditEntry } from '../audit/audit.js';
import { auditedWrite, writeAudit } from '../audit/audit-store.js';
import type { Database } from '../postgres/database.js';
import type { Token } from './token.js';
import { insertToken, markRevoked, readToken } from './token-store.js';

/** Creates a token with its audit log entry, on behalf of the actor in `origin`. */
export async function createToken(
  database: Database,
  token: Token,
  hash: Buffer,
  origin: AuditOrigin,
): Promise<void> {
  const { scopes, actor, expires_at } = token;
  await auditedWrite(database, token.organization_id, async (client) => {
    await insertToken(client, token, hash);
    const action = token.portal ? 'portal_session.created' : 'token.created';
    const changes = changesBetween(undefined, { scopes, actor, expires_at });
    await writeAudit(client, [entryAbout(token, action, changes, origin)]);
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
    await writeAudit(client, [entryAbout(revoked, 'token.revoked', changes, origin)]);
    return { token: revoked, isRevokedNow: true };
  });
}

function entryAbout(
  token: Token,
  action: string,
  changes: NewAuditEntry['changes'],
  origin: AuditOrigin,
): NewAuditEntry {
  const { organization_id, workspace_id, id } = token;
  return { organization_id, workspace_id, ...origin, action, target: { type: 'token', id }, changes };
}
