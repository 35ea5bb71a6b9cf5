import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeAtExit } from './processes.js';

/** Makes a temporary directory that PostgreSQL can reach when it runs as another user, because we are root. */
export function makePlace() {
  const path = mkdtempSync(join(tmpdir(), 'posthorn-faults-'));
  chmodSync(path, 0o711);
  return { path, remove: removeAtExit(path) };
}
