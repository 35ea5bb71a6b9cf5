// Printed from the OpenAPI document of the service: change it there, then run
// UPDATE_DOCS=1 npx vitest run packages/client/test/api-types.test.ts

export interface NewEvent {
  /** Event type. `webhook.*` is not allowed. */
  type: string;
  /** Organization ID. */
  organization_id: string;
  /** Workspace ID. Omit it or use null if the event concerns the whole organization. */
  workspace_id?: string | null;
  /** Who caused the event. */
  actor: ReferenceInput;
  /** What the event is about. */
  subject: ReferenceInput;
  /** Must match the schema of the event type. Additional fields are allowed. */
  payload: Record<string, unknown>;
  /** Makes it safe to repeat the request. For 24 hours, the same key in the same organization returns the first event and records nothing. */
  idempotency_key?: string;
}

export interface RecordedEvent {
  /** Event ID. */
  id: string;
  /** Time when the event was recorded. */
  created_at: string;
}

export interface ReferenceInput {
  /** Type, such as `user` or `invoice`. */
  type: string;
  /** ID. */
  id: string;
}
