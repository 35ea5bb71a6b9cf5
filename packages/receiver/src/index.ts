export type * from './envelope.js';
export type { EventData } from './event-data.js';
export type * from './formats.js';
export {
  createReceiver,
  type Handlers,
  type Outcome,
  type Pattern,
  type Receiver,
  type ReceiverOptions,
  type Reply,
} from './receiver.js';
export { memorySeen, type Seen } from './seen.js';
export { type SignatureHeaders, type SigningKey, type SignOptions, sign, signingKey } from './signing.js';
export {
  type ReceivedHeaders,
  type Refusal,
  type Verification,
  type VerifyOptions,
  verify,
} from './verify.js';
