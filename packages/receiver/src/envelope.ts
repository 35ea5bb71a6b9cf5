import type { EventData } from './event-data.js';

/** The JSON body of every webhook request. */
export interface Envelope<Data = Record<string, unknown>, Type extends string = string> {
  id: string;
  type: Type;
  created_at: string;
  organization_id: string;
  workspace_id: string | null;
  data: Data;
  /** Only on requests sent by the test endpoint. */
  test?: true;
}

/** What `data` contains, by the type of the envelope. A receiver can declare the types that its operator added. */
export interface EnvelopeData extends EventData {
  /** Checks that the receiver is there. It is not about an event. */
  'webhook.verification': { webhook_id: string; challenge: string };
}

/** An envelope of these types, by default of every known type: a union that narrows on `type`. */
export type EnvelopeOf<Type extends keyof EnvelopeData = keyof EnvelopeData> = {
  [Each in Type]: Envelope<EnvelopeData[Each], Each>;
}[Type];

/** A type of event: every type of envelope but the verification request. */
export type EventType = Exclude<keyof EnvelopeData, 'webhook.verification'>;
