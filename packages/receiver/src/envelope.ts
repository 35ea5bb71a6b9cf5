import type { EventData } from './event-data.js';

/** The JSON body of every webhook request. */
export interface Envelope<Data = Record<string, unknown>, Type extends string = string> {
  id: string;
  type: Type;
  created_at: string;
  organization_id: string;
  workspace_id: string | null;
  data: Data;
  /** True in test events, otherwise absent. */
  test?: true;
}

declare global {
  /**
   * The payloads of the platform's event types, by type. Empty, unless the program imports a file that `posthorn types
   * generate` has written.
   */
  interface PosthornEventTypes {}
}

type KnownData = keyof PosthornEventTypes extends never ? EventData : PosthornEventTypes;

/**
 * The type of `data` for each envelope type. A receiver can add the types of its installation by declaration merging.
 */
export interface EnvelopeData extends KnownData {
  /** The verification request. It is not an event. */
  'webhook.verification': { webhook_id: string; challenge: string };
}

/** An envelope of these types, or of all known types: a union that narrows on `type`. */
export type EnvelopeOf<Type extends keyof EnvelopeData = keyof EnvelopeData> = {
  [Each in Type]: Envelope<EnvelopeData[Each], Each>;
}[Type];

/** An event type: every envelope type except the verification request. */
export type EventType = Exclude<keyof EnvelopeData, 'webhook.verification'>;
