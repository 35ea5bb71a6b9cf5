export type { EventOf, EventTypeName, PayloadOf } from './domain/catalogue.js';
export type { NewEvent } from './domain/event.js';
export { type RecordedEvent, recordEvents } from './storage/events.js';
