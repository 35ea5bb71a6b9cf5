export type {
  EventOf,
  EventType as AddedEventType,
  EventTypeName,
  PayloadOf,
} from './catalogue/catalogue.js';
export type { NewEvent, NewEventOf } from './events/event.js';
export { InvalidEvents, type RecordEventsOptions, recordEvents } from './events/record-events.js';
export type { RecordedEvent } from './events/recording-store.js';
export type {
  CreationEvent,
  MoveEvent,
  MoveName,
  Resource,
  ResourceCreation,
  ResourceMove,
  ResourceName,
} from './lifecycles/resource-types.js';
export {
  createResource,
  InvalidResource,
  MoveNotAllowed,
  moveResource,
  ResourceNotFound,
  readResource,
} from './lifecycles/resources.js';
