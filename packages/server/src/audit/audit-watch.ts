import type { Logger } from 'pino';
import type { Database } from '../postgres/database.js';
import { readAuditedOrganizations, verifyChain } from './chain-store.js';

/** One organization per minute, so that verification never puts much load on the database. */
export const auditWatchMs = 60_000;

/** Verifies the audit log continuously, one organization after another, and counts the results. */
export class AuditWatch {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #broken = new Set<string>();
  #after = '';
  #verified = 0;

  constructor(database: Database, logger: Logger) {
    this.#database = database;
    this.#logger = logger;
  }

  /** Returns how many chains were broken when last verified, and how many verifications there have been. */
  get figures(): { broken: number; verified: number } {
    return { broken: this.#broken.size, verified: this.#verified };
  }

  /** Verifies the chain of the next organization. After the last one, it starts again with the first. */
  async verifyNext(): Promise<void> {
    const [organizationId] = await readAuditedOrganizations(this.#database, this.#after, 1);
    this.#after = organizationId ?? '';
    if (organizationId === undefined) return;
    const { fault } = await verifyChain(this.#database, organizationId);
    this.#verified += 1;
    const wasBroken = this.#broken.delete(organizationId);
    if (!fault) return;
    this.#broken.add(organizationId);
    if (wasBroken) return;
    this.#logger.error(
      { organization_id: organizationId, fault: fault.kind, position: fault.position, audit_id: fault.id },
      'the audit log was altered; run posthorn audit verify',
    );
  }
}
