import type { EnvelopeData, EnvelopeOf, EventType } from './envelope.js';

interface Reference {
  type: string;
  id: string;
}

/** The body of the format `thin`: an event without its payload. */
export interface ThinEvent<Type extends string = string> {
  id: string;
  type: Type;
  organization_id: string;
  workspace_id: string | null;
  actor: Reference;
  subject: Reference;
  created_at: string;
  /** True in test events, otherwise absent. */
  test?: true;
}

/** The body of the format `event`. */
export interface PayloadEvent<Payload = Record<string, unknown>, Type extends string = string>
  extends ThinEvent<Type> {
  payload: Payload;
}

/** The body of the format `cloudevents`. `subject` is `<type>/<id>`. */
export interface CloudEvent<Data = Record<string, unknown>, Type extends string = string> {
  specversion: '1.0';
  id: string;
  source: string;
  type: Type;
  time: string;
  subject: string;
  datacontenttype: 'application/json';
  organizationid: string;
  /** Absent if the event concerns the whole organization. */
  workspaceid?: string;
  actortype: string;
  actorid: string;
  data: Data;
  /** True in test events, otherwise absent. */
  test?: true;
}

/** What a handler gets for a body of the format `slack` or `template`. Only a handler for `*` gets it. */
export interface OtherBody<Body = unknown> {
  /** The event ID, from the header `webhook-id`. */
  id: string;
  type: '*';
  body: Body;
}

/** The formats of webhooks. */
export type Format = 'envelope' | 'event' | 'thin' | 'cloudevents' | 'slack' | 'template';

/** What a handler gets for these event types, by the format of the webhook. */
export interface FormatOf<Type extends EventType> {
  envelope: EnvelopeOf<Type>;
  event: { [Each in Type]: PayloadEvent<EnvelopeData[Each], Each> }[Type];
  thin: { [Each in Type]: ThinEvent<Each> }[Type];
  cloudevents: { [Each in Type]: CloudEvent<EnvelopeData[Each], Each> }[Type];
  slack: OtherBody<{ text: string }>;
  template: OtherBody;
}
