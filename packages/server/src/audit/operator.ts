import { userInfo } from 'node:os';
import type { AuditOrigin } from './audit.js';

/** Returns the origin of a write without a request: the user who runs this process. */
export function operatorOrigin(): AuditOrigin {
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
