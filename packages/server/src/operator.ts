import { userInfo } from 'node:os';
import { type AuditOrigin, changesBetween, type NewAuditEntry } from './domain/audit.js';
import type { Token } from './domain/token.js';
import { writeAudit } from './storage/audit.js';
import type { Database } from './storage/database.js';
import { createToken, readToken, revokeToken } from './storage/tokens.js';

/** Makes a token in the name of whoever runs this process, with its entry in the audit log. */
export async function issueToken(database: Database, token: Token, hash: Buffer): Promise<void> {
  const { scopes, actor, expires_at } = token;
  await database.transaction(async (client) => {
    await createToken(client, token, hash);
    const changes = changesBetween(undefined, { scopes, actor, expires_at });
    await writeAudit(client, [entryAbout(token, 'token.created', changes)]);
  });
}

/** The token, revoked now or earlier; undefined for an unknown id. */
export async function withdrawToken(database: Database, id: string, now: Date): Promise<Token | undefined> {
  return database.transaction(async (client) => {
    const revoked = await revokeToken(client, id, now);
    if (!revoked) return readToken(client, id);
    const changes = changesBetween(undefined, { revoked_at: revoked.revoked_at });
    await writeAudit(client, [entryAbout(revoked, 'token.revoked', changes)]);
    return revoked;
  });
}

function entryAbout(token: Token, action: string, changes: NewAuditEntry['changes']): NewAuditEntry {
  const { organization_id, workspace_id, id } = token;
  return { organization_id, workspace_id, ...origin(), action, target: { type: 'token', id }, changes };
}

function origin(): AuditOrigin {
  return { actor: { type: 'operator', id: userName() }, request_id: null, source_address: null };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container the user may have no name.
    return String(process.getuid?.() ?? 'unknown');
  }
}
