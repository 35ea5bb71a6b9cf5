export type * from './api.js';
export { type CallOptions, Posthorn, type WriteOptions } from './client.js';
export { type InputError, PosthornError } from './error.js';
export { List, type Page } from './list.js';
export type { NewEvent, RecordedEvent, ReferenceInput } from './platform-api.js';
export { Producer, type ProducerOptions } from './producer.js';
export { Tail, type TailOptions } from './tail.js';
export type { RetryOptions, TransportOptions } from './transport.js';
