import type { Webhook } from '@posthorn/client';
import { t } from '../text/language';

export type Format = Webhook['format'];

/** What the formats of a body are called, and what they contain. */
export const formats: Record<Format, { name: string; what: string }> = {
  envelope: {
    name: t`Envelope`,
    what: t`ID, type and time of the event, and its payload as data. This is the default.`,
  },
  event: { name: t`Event`, what: t`The event as the API returns it, with actor, subject and payload.` },
  thin: { name: t`Thin`, what: t`The event without its payload, for receivers that get it from the API.` },
  cloudevents: { name: 'CloudEvents', what: t`A CloudEvent 1.0 in structured mode.` },
  slack: {
    name: t`Chat text`,
    what: t`One or two lines for the incoming webhook of a chat such as Slack. For your own words, use a template.`,
  },
  template: {
    name: t`Template`,
    what: t`A body in the receiver’s own shape: JSON in whose texts values of the event take the place of {{path}}.`,
  },
};
