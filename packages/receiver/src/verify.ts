import { timingSafeEqual } from 'node:crypto';
import { type Body, prepared, type SigningKey, serviceDigest, standardDigest } from './signing.js';

export type ReceivedHeaders =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | { get(name: string): string | null };

/** A secret, or undefined if an environment variable is not set. */
export type Secret = SigningKey | string | undefined;

export interface VerifyOptions {
  /** The maximum difference between `webhook-timestamp` and now, in either direction. Default: 300. */
  toleranceSeconds?: number | undefined;
  now?: Date | undefined;
  /** Accept only `webhook-signature`, which covers the time. This prevents replays of old requests. */
  requireTimestamp?: boolean | undefined;
  /** The body is known to be as it arrived, so a mismatch is explained without advice on how to keep it that way. */
  isRaw?: boolean | undefined;
}

export type Refusal =
  | 'no_secret'
  | 'malformed_secret'
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

// Explaining a failure computes further digests, and anyone can send requests that fail, so large bodies get
// no explanation.
const EXPLAINED_BYTES_MAX = 1024 * 1024;
const KEEP_RAW =
  'Pass the bytes that arrived, or use an adapter from @posthorn/receiver. In Express, register the route before ' +
  "express.json(), with express.raw({ type: 'application/json', limit: '10mb' }); in Fastify, add a content type " +
  "parser with parseAs: 'buffer', and set bodyLimit; elsewhere, use request.text().";

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
  const secrets = [secret].flat().filter(isUsable);
  if (secrets.length === 0) {
    return refuse('no_secret', 'There is no usable secret: every secret is empty, not set or not a string.');
  }

  const body = rawBody instanceof ArrayBuffer ? new Uint8Array(rawBody) : rawBody;
  if (typeof body !== 'string' && !ArrayBuffer.isView(body)) {
    const what = body === undefined || body === null ? String(body) : `a parsed ${typeof body}`;
    return refuse('body_not_raw', `The body is ${what}, not the text or bytes that arrived. ${KEEP_RAW}`);
  }

  const id = header(headers, 'webhook-id');
  const seconds = header(headers, 'webhook-timestamp');
  const standard = header(headers, 'webhook-signature');
  const service = [
    header(headers, 'x-service-signature'),
    header(headers, 'x-service-signature-previous'),
  ].filter((value) => value !== undefined);
  const timestamped = id !== undefined && seconds !== undefined && standard !== undefined;

  if (!timestamped && (options.requireTimestamp || service.length === 0)) {
    const given = { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': standard };
    const missing = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [name] : []));
    const detail = `The request has no ${missing.join(' or ')} header.`;
    return options.requireTimestamp && (standard !== undefined || service.length > 0)
      ? refuse(
          'missing_timestamp',
          `${detail} X-Service-Signature alone does not cover the time when the request was sent.`,
        )
      : refuse('missing_signature', detail);
  }
  if (seconds !== undefined && !/^\d{1,12}$/.test(seconds)) {
    return refuse('malformed_timestamp', 'webhook-timestamp is not a whole number of seconds.');
  }

  // With a period in the ID, part of a signed body could pass as another ID, time and body.
  const standardGiven = timestamped && !id.includes('.') ? standardDigests(standard) : [];
  const serviceGiven = options.requireTimestamp ? [] : service.flatMap(serviceDigests);
  if (standardGiven.length + serviceGiven.length === 0) {
    return refuse('malformed_signature', malformed(options.requireTimestamp ? undefined : service[0]));
  }

  const standardFits = (candidate: Body, keys: SigningKey[]) =>
    timestamped && matches(standardGiven, keys, (key) => standardDigest(key, id, seconds, candidate));
  const fits = (candidate: Body, keys: SigningKey[]) =>
    standardFits(candidate, keys) || matches(serviceGiven, keys, (key) => serviceDigest(key, candidate));

  const keys = secrets.map(prepared);
  const signedAt = standardFits(body, keys) ? new Date(Number(seconds) * 1000) : null;
  if (signedAt === null && !fits(body, keys)) {
    const change = changed(body, headers, (other) => fits(other, keys));
    if (change !== undefined) return refuse('body_not_raw', `${change} ${KEEP_RAW}`);
    const slip =
      body.length <= EXPLAINED_BYTES_MAX && misspelled(secrets, (other) => fits(body, [prepared(other)]));
    if (slip) return refuse('malformed_secret', slip);
    return refuse(
      'signature_mismatch',
      `The secret is not the webhook's secret, or the body was changed${options.isRaw ? ' in transit.' : `. ${KEEP_RAW}`}`,
    );
  }

  if (seconds !== undefined) {
    const tolerance = options.toleranceSeconds ?? 300;
    const age = Math.floor((options.now ?? new Date()).getTime() / 1000) - Number(seconds);
    // Negated, so that NaN is refused.
    const limit = `the maximum is ${tolerance} s. Check the clock on this machine.`;
    if (!(age <= tolerance)) return refuse('timestamp_too_old', `Signed ${age} s ago; ${limit}`);
    if (!(-age <= tolerance))
      return refuse('timestamp_in_future', `Signed ${-age} s in the future; ${limit}`);
  }
  return { ok: true, signedAt };
}

// An unset environment variable ends up here, alone or after the prefix, and anyone can sign with that.
function isUsable(secret: Secret): secret is SigningKey | string {
  return typeof secret === 'string'
    ? !/^\s*(whsec_)?\s*$/.test(secret)
    : Boolean(secret?.service && secret.standard);
}

/** Returns the values of this header, joined by commas. The name must be in lowercase. */
export function header(headers: ReceivedHeaders, name: string): string | undefined {
  if (typeof headers?.get === 'function') return headers.get(name) || undefined;
  const values = Object.entries(headers ?? {})
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]) => value)
    .filter((value) => typeof value === 'string' && value !== '');
  return values.length > 0 ? values.join(', ') : undefined;
}

// These two functions also accept a repeated header, which Node and Headers join into one value with commas and spaces.
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
  if (service === undefined)
    return 'webhook-signature has no signature of the form v1,<44 characters>, or webhook-id contains a period.';
  if (!service.startsWith('sha256=')) return 'X-Service-Signature does not start with sha256=.';
  const digits = service.length - 'sha256='.length;
  if (digits !== 64) return `X-Service-Signature has ${digits} characters after sha256=, not 64.`;
  return 'X-Service-Signature is not hexadecimal after sha256=.';
}

/**
 * Returns evidence that the body is not the one that was sent. A body re-serialized to the same length, for example
 * with reordered keys, cannot be distinguished from one that was never signed.
 */
function changed(body: Body, headers: ReceivedHeaders, fits: (other: string) => boolean) {
  const length = Buffer.byteLength(body);
  const declared = header(headers, 'content-length');
  const encoded = header(headers, 'content-encoding') !== undefined;
  if (declared !== undefined && !encoded && /^\d+$/.test(declared) && Number(declared) !== length) {
    return `Content-Length is ${declared}, but the body has ${length} bytes.`;
  }
  if (length > EXPLAINED_BYTES_MAX) return undefined;
  try {
    const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
    const compact = JSON.stringify(JSON.parse(text));
    return fits(compact)
      ? 'The body was serialized again: as compact JSON, it matches the signature.'
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns what is wrong with the form of a secret, if the signature matches the corrected secret. Only a request that
 * was signed with the real secret can match, so this reveals nothing to an attacker.
 */
function misspelled(secrets: (SigningKey | string)[], fits: (other: string) => boolean): string | undefined {
  for (const secret of secrets) {
    if (typeof secret !== 'string') continue;
    const bare = secret.trim().replace(/^(["'])(.*)\1$/, '$2');
    if (bare !== secret && bare !== '' && fits(bare)) {
      return 'The secret has white space or quotation marks around it. Remove them.';
    }
    if (fits(`whsec_${bare}`)) return 'The secret lacks its prefix, whsec_.';
    const rest = bare.replace(/^whsec_/, '');
    if (rest !== bare && rest !== '' && fits(rest)) {
      return "The webhook's secret does not start with whsec_. Remove this prefix.";
    }
  }
  return undefined;
}

function refuse(reason: Refusal, detail: string): Verification {
  return { ok: false, reason, detail };
}
