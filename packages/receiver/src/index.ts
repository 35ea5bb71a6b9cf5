export type * from './envelope.js';
export type { EventData } from './event-data.js';
export type * from './formats.js';
export type { Handlers, Outcome, Pattern, Receiver, ReceiverOptions, Reply } from './receiver.js';
export { createReceiver } from './receiver.js';
export { memorySeen, type Seen } from './seen.js';
export { type SignatureHeaders, type SigningKey, type SignOptions, sign, signingKey } from './signing.js';
export type { ReceivedHeaders, Refusal, Verification, VerifyOptions } from './verify.js';
export { verify } from './verify.js';
