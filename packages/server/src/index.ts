export type { EventOf, EventTypeName, FurtherEventType, PayloadOf } from './domain/catalogue.js';
export type { NewEvent } from './domain/event.js';
export { InvalidEvents, type RecordEventsOptions, recordEvents } from './platform/record-events.js';
export type { RecordedEvent } from './storage/events.js';
