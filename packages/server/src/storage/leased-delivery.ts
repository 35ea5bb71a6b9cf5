/** First deliveries of one recording to one webhook, which have one row for all until they are settled. */
export interface Bundle {
  organization_id: string;
  webhook_id: string;
  created_at: Date;
  head: string;
  /** How many of them are not settled yet. */
  open: number;
}

/** A delivery in a node's memory, with all it takes to attempt it. */
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
  /** Null where the event is gone: it outlived its retention while its delivery waited. */
  payload: string | null;
  /** Where it has no row of its own yet. */
  bundle?: Bundle | undefined;
}
