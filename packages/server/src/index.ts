export type { AddedEventType, EventOf, EventTypeName, NewEventOf, PayloadOf } from './domain/catalogue.js';
export type { NewEvent } from './domain/event.js';
export type {
  CreationEvent,
  MoveEvent,
  MoveName,
  Resource,
  ResourceCreation,
  ResourceMove,
  ResourceName,
} from './domain/resource-types.js';
export { InvalidEvents, type RecordEventsOptions, recordEvents } from './platform/record-events.js';
export {
  createResource,
  InvalidResource,
  MoveNotAllowed,
  moveResource,
  ResourceNotFound,
  readResource,
} from './platform/resources.js';
export type { RecordedEvent } from './storage/recording.js';
