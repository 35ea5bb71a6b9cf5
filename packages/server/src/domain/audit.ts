/** One write by an actor, as it is handed to the audit log. Never holds a secret. */
export interface NewAuditEntry {
  organization_id: string;
  workspace_id: string | null;
  actor: { type: string; id: string };
  /** Named like events: `webhook.created`, `token.revoked`, `service_line.activated`. */
  action: string;
  target: { type: string; id: string };
  /** Null where no request stands behind it, as on the command line. */
  request_id: string | null;
  source_address: string | null;
  changes: Changes;
}

/** Each field that was set, with what it was before: null where there was nothing. */
export type Changes = Readonly<Record<string, { from: unknown; to: unknown }>>;

/** Who writes, and through which request: what an entry needs beside what was done. */
export type AuditOrigin = Pick<NewAuditEntry, 'actor' | 'request_id' | 'source_address'>;

export interface AuditEntry extends NewAuditEntry {
  /** `AUD-*` */
  id: string;
  created_at: Date;
}
