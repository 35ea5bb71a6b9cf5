export type * from './api.js';
export { type CallOptions, Posthorn, type WriteOptions } from './client.js';
export { type InputError, PosthornError } from './error.js';
export { List, type Page } from './list.js';
export { type ChangedResource, type Move, type NewResource, Platform, type Resource } from './platform.js';
export type * from './platform-api.js';
export { type ProducedEvent, Producer, type ProducerOptions } from './producer.js';
export { Tail, type TailOptions } from './tail.js';
export type { Cell, RetryOptions, TransportOptions } from './transport.js';
