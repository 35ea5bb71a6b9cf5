export type {
  EventOf,
  EventType as AddedEventType,
  EventTypeName,
  PayloadOf,
} from './catalogue/catalogue.js';
export type { NewEvent, NewEventOf } from './events/event.js';
export { InvalidEvents, type RecordEventsOptions, recordEvents } from './events/record-events.js';
export type { RecordedEvent } from './events/recording-store.js';
export type { ResourceName } from './lifecycles/lifecycles.js';
export {
  type CreationEvent,
  createResource,
  InvalidResource,
  type MoveEvent,
  type MoveName,
  MoveNotAllowed,
  moveResource,
  type Resource,
  type ResourceCreation,
  type ResourceMove,
  ResourceNotFound,
  readResource,
} from './lifecycles/resources.js';
