import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { EventData } from './event-data.js';

/** The JSON body of every webhook request. */
export interface Envelope<Data = Record<string, unknown>, Type extends string = string> {
  id: string;
  type: Type;
  created_at: string;
  organization_id: string;
  workspace_id: string | null;
  data: Data;
  /** Present only on requests of the test endpoint. */
  test?: true;
}

/**
 * The type of `data` for each envelope type. A receiver can add the types of its installation by declaration merging.
 */
export interface EnvelopeData extends EventData {
  /** The verification request. It belongs to no event. */
  'webhook.verification': { webhook_id: string; challenge: string };
}

/** An envelope of these types, or of all known types: a union that narrows on `type`. */
export type EnvelopeOf<Type extends keyof EnvelopeData = keyof EnvelopeData> = {
  [Each in Type]: Envelope<EnvelopeData[Each], Each>;
}[Type];

/** A secret prepared for many signatures. Logging it shows no key bytes. */
export interface SigningKey {
  /** Key of `X-Service-Signature`: the UTF-8 bytes of the secret, including `whsec_`. */
  readonly service: KeyObject;
  /** Key of `webhook-signature`: the decoded part after `whsec_`, or else the same as `service`. */
  readonly standard: KeyObject;
}

export interface SignOptions {
  /** The event id. It must not contain a full stop, which separates the signed fields. */
  id: string;
  timestamp: Date;
  key: SigningKey | string;
  /** The previous secret, during its grace period. */
  previous?: SigningKey | string | undefined;
}

export type SignatureHeaders = {
  'X-Service-Signature': string;
  'X-Service-Signature-Previous'?: string;
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
};

export type ReceivedHeaders =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | { get(name: string): string | null };

export interface VerifyOptions {
  /** The maximum difference between `webhook-timestamp` and now, in either direction. Default: 300. */
  toleranceSeconds?: number | undefined;
  now?: Date | undefined;
  /** Accept only `webhook-signature`, which covers the time. This prevents replays of old requests. */
  requireTimestamp?: boolean | undefined;
}

export type Refusal =
  | 'no_secret'
  | 'body_not_raw'
  | 'missing_signature'
  | 'missing_timestamp'
  | 'malformed_timestamp'
  | 'malformed_signature'
  | 'signature_mismatch'
  | 'timestamp_too_old'
  | 'timestamp_in_future';

/** `signedAt` is null if only `X-Service-Signature` matched, which does not cover the time. */
export type Verification =
  | { ok: true; signedAt: Date | null }
  | { ok: false; reason: Refusal; detail: string };

type Body = string | Uint8Array;
type Secret = SigningKey | string | undefined;

// Exactly what the standardwebhooks package decodes; it throws on anything else. Padding may be missing, and a single
// character after the groups of four is silently dropped.
const DECODABLE = /^(?=.{4})(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2,3}|[^=])?={0,2}$/s;
const RESERIALISED_BYTES_MAX = 1024 * 1024;
const KEEP_RAW =
  "Hand in the bytes that arrived: express.raw({ type: 'application/json' }), request.text(), " +
  "or in Fastify a content type parser with parseAs: 'buffer'.";

/**
 * Prepares a secret for signing. A `whsec_` secret that is not base64 is not a Standard Webhooks secret and is used
 * as it is, like any other secret that a user chose. Throws if the secret is empty.
 */
export function signingKey(secret: string): SigningKey {
  if (secret === '') throw new TypeError('an empty secret would sign for everyone');
  const service = createSecretKey(secret, 'utf8');
  const encoded = secret.startsWith('whsec_') ? secret.slice('whsec_'.length) : '';
  const standard = DECODABLE.test(encoded) ? createSecretKey(encoded, 'base64') : service;
  return { service, standard };
}

export function sign(body: Body, { id, timestamp, key, previous }: SignOptions): SignatureHeaders {
  const seconds = String(Math.floor(timestamp.getTime() / 1000));
  const current = prepared(key);
  const headers: SignatureHeaders = {
    'X-Service-Signature': `sha256=${serviceDigest(current, body)}`,
    'webhook-id': id,
    'webhook-timestamp': seconds,
    'webhook-signature': `v1,${standardDigest(current, id, seconds, body)}`,
  };
  if (previous !== undefined) {
    const old = prepared(previous);
    headers['X-Service-Signature-Previous'] = `sha256=${serviceDigest(old, body)}`;
    headers['webhook-signature'] += ` v1,${standardDigest(old, id, seconds, body)}`;
  }
  return headers;
}

/**
 * Checks whether the request was signed with one of the secrets. One valid `webhook-signature`, `X-Service-Signature`
 * or `X-Service-Signature-Previous` is enough. A `webhook-timestamp`, if present, must be close to now. An attacker
 * who replays a request can leave it out: see `requireTimestamp`.
 */
export function verify(
  rawBody: Body | ArrayBuffer,
  headers: ReceivedHeaders,
  secret: Secret | readonly Secret[],
  options: VerifyOptions = {},
): Verification {
  const keys = [secret].flat().filter(isUsable).map(prepared);
  if (keys.length === 0) return refuse('no_secret', 'Every secret handed in is empty, unset or no string.');

  const body = rawBody instanceof ArrayBuffer ? new Uint8Array(rawBody) : rawBody;
  if (typeof body !== 'string' && !ArrayBuffer.isView(body)) {
    const what = body === undefined || body === null ? String(body) : `a parsed ${typeof body}`;
    return refuse('body_not_raw', `The body handed in is ${what}. ${KEEP_RAW}`);
  }

  const id = header(headers, 'webhook-id');
  const seconds = header(headers, 'webhook-timestamp');
  const standard = header(headers, 'webhook-signature');
  const service = [
    header(headers, 'x-service-signature'),
    header(headers, 'x-service-signature-previous'),
  ].filter((value) => value !== undefined);
  const timestamped = id !== undefined && seconds !== undefined && standard !== undefined;

  if (!timestamped && options.requireTimestamp) {
    return refuse('missing_timestamp', 'Not all of webhook-id, webhook-timestamp, webhook-signature came.');
  }
  if (!timestamped && service.length === 0) {
    return refuse('missing_signature', 'Neither X-Service-Signature nor all three webhook-* headers came.');
  }
  if (seconds !== undefined && !/^\d{1,12}$/.test(seconds)) {
    return refuse('malformed_timestamp', 'webhook-timestamp is not a whole number of seconds.');
  }

  // With a full stop in the id, part of a signed body could pass as another id, time and body.
  const standardGiven = timestamped && !id.includes('.') ? standardDigests(standard) : [];
  const serviceGiven = options.requireTimestamp ? [] : service.flatMap(serviceDigests);
  if (standardGiven.length + serviceGiven.length === 0) {
    return refuse('malformed_signature', malformed(options.requireTimestamp ? undefined : service[0]));
  }

  const vouchedStandard = (candidate: Body) =>
    timestamped && matches(standardGiven, keys, (key) => standardDigest(key, id, seconds, candidate));
  const vouchedService = (candidate: Body) =>
    matches(serviceGiven, keys, (key) => serviceDigest(key, candidate));

  const signedAt = vouchedStandard(body) ? new Date(Number(seconds) * 1000) : null;
  if (signedAt === null && !vouchedService(body)) {
    const change = changed(body, headers, (other) => vouchedStandard(other) || vouchedService(other));
    return change === undefined
      ? refuse('signature_mismatch', `Another secret, or another body than the one signed. ${KEEP_RAW}`)
      : refuse('body_not_raw', `${change} ${KEEP_RAW}`);
  }

  if (seconds !== undefined) {
    const tolerance = options.toleranceSeconds ?? 300;
    const age = Math.floor((options.now ?? new Date()).getTime() / 1000) - Number(seconds);
    // Negated, so that NaN is refused.
    const limit = `${tolerance} s are allowed.`;
    if (!(age <= tolerance)) return refuse('timestamp_too_old', `Signed ${age} s ago, ${limit}`);
    if (!(-age <= tolerance)) return refuse('timestamp_in_future', `Signed ${-age} s from now, ${limit}`);
  }
  return { ok: true, signedAt };
}

function serviceDigest(key: SigningKey, body: Body): string {
  return createHmac('sha256', key.service).update(body).digest('hex');
}

function standardDigest(key: SigningKey, id: string, seconds: string, body: Body): string {
  return createHmac('sha256', key.standard).update(`${id}.${seconds}.`).update(body).digest('base64');
}

function prepared(secret: SigningKey | string): SigningKey {
  return typeof secret === 'string' ? signingKey(secret) : secret;
}

// An unset environment variable ends up here, and anyone can sign with ''.
function isUsable(secret: Secret): secret is SigningKey | string {
  return typeof secret === 'string' ? secret !== '' : Boolean(secret?.service && secret.standard);
}

function header(headers: ReceivedHeaders, name: string): string | undefined {
  if (typeof headers?.get === 'function') return headers.get(name) || undefined;
  const values = Object.entries(headers ?? {})
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]) => value)
    .filter((value) => typeof value === 'string' && value !== '');
  return values.length > 0 ? values.join(', ') : undefined;
}

// Both also accept a repeated header as Node and Headers join it: one value, separated by comma and space.
function serviceDigests(value: string): string[] {
  return value
    .split(/[\s,]+/)
    .flatMap((part) => /^sha256=([0-9a-f]{64})$/i.exec(part)?.[1]?.toLowerCase() ?? []);
}

function standardDigests(value: string): string[] {
  return value.split(/,?\s+/).flatMap((part) => /^v1,([A-Za-z0-9+/]{43}=)$/.exec(part)?.[1] ?? []);
}

// The given digests matched a pattern of fixed length, so both sides have the same length.
function matches(given: string[], keys: SigningKey[], digest: (key: SigningKey) => string): boolean {
  if (given.length === 0) return false;
  return keys.some((key) => {
    const expected = Buffer.from(digest(key));
    return given.some((value) => timingSafeEqual(Buffer.from(value), expected));
  });
}

function malformed(service: string | undefined): string {
  if (service === undefined) return 'webhook-signature has no v1,<44 characters>, or webhook-id a full stop.';
  if (!service.startsWith('sha256=')) return 'X-Service-Signature does not start with sha256=.';
  const digits = service.length - 'sha256='.length;
  if (digits !== 64) return `X-Service-Signature has ${digits} characters after sha256=, not 64.`;
  return 'X-Service-Signature is not hexadecimal after sha256=.';
}

/**
 * Returns evidence that the body is not the one that was sent. A body re-serialised to the same length, for example
 * with reordered keys, cannot be distinguished from one that was never signed.
 */
function changed(body: Body, headers: ReceivedHeaders, vouched: (other: string) => boolean) {
  const length = Buffer.byteLength(body);
  const declared = header(headers, 'content-length');
  const encoded = header(headers, 'content-encoding') !== undefined;
  if (declared !== undefined && !encoded && /^\d+$/.test(declared) && Number(declared) !== length) {
    return `Content-Length says ${declared} bytes arrived, ${length} were handed in.`;
  }
  if (length > RESERIALISED_BYTES_MAX) return undefined;
  try {
    const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
    const compact = JSON.stringify(JSON.parse(text));
    return vouched(compact) ? 'The body was written again: as compact JSON it is the one signed.' : undefined;
  } catch {
    return undefined;
  }
}

function refuse(reason: Refusal, detail: string): Verification {
  return { ok: false, reason, detail };
}
