import type { Tag } from '../web/api-document.js';

/** The guides of the platform listener. */
export const platformGuides: readonly Tag[] = [
  {
    name: 'Record events',
    description: `Send events to \`POST /platform/events\`: one event, an array of up to 1,000 events, or one event per line as \`application/x-ndjson\`. The service responds when all events are stored durably. If one event is not valid, none are recorded.

- \`payload\` must match the schema of the event type. Additional fields are allowed.
- With an \`idempotency_key\`, you can repeat a request safely. For 24 hours, the same key in the same organization returns the first event and records nothing.
- You cannot record \`webhook.*\` events. The service records them itself.

Programs that share the database can record events in their own transaction: with \`posthorn.record_event(…)\` in SQL, or with \`recordEvents(client, events)\` from \`@posthorn/server\` in TypeScript.`,
  },
  {
    name: 'Change resources',
    description: `Service lines, invoices, incidents and other resources have a status. A *move* is an action that can change the status. The service writes the status, the event and the audit log entry in one transaction.

A move that the current status does not allow returns 409 and changes nothing. \`possible_moves\` lists the moves that are allowed.

You can also record events about resources that Posthorn does not manage.`,
  },
];
