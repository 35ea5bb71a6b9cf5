export type { EventOf, EventTypeName, PayloadOf } from './catalogue/catalogue.js';
export type { NewEvent, NewEventOf, NewPlatformEvent } from './events/event.js';
export { InvalidEvents, recordEvents } from './events/record-events.js';
export type { RecordedEvent } from './events/recording-store.js';
export type { ResourceName } from './resources/resource-schema.js';
export * from './resources/resources.js';
