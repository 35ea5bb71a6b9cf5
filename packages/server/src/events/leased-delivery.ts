import type { Reference } from '../values/identifier.js';

/**
 * Deliveries that share one row until each of them is settled and gets its own: a hand-off, or a claimed row of the
 * backlog.
 */
export interface OpenGroup {
  /** What all IDs of the recording share after their prefix. */
  head: string;
  /** The rest of its key in the backlog; undefined for a hand-off. */
  backlogKey: { organization_id: string; webhook_id: string; created_at: Date; first: number } | undefined;
  /** How many deliveries are not settled yet. */
  open: number;
}

/** A delivery in a node's memory, with everything needed to attempt it. */
export interface LeasedDelivery {
  organization_id: string;
  webhook_id: string;
  delivery_created_at: Date;
  delivery_id: string;
  /** Attempts made so far. */
  attempts: number;
  event_id: string;
  type: string;
  event_created_at: Date;
  workspace_id: string | null;
  actor: Reference;
  subject: Reference;
  /** Null if retention deleted the event while the delivery was waiting. */
  payload: string | null;
  /** The trace of the recording, if this node recorded the event and tracing is on. It is not stored. */
  traceparent?: string | undefined;
  /**
   * When the delivery's row was due, or undefined if the delivery has no row of its own yet. This time identifies the
   * lease: it changes whenever the delivery goes back to waiting, and never while the delivery is leased.
   */
  due_at?: Date | undefined;
  /** Undefined if the delivery has its own row. */
  group: OpenGroup | undefined;
}
