import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

/** A body as it is sent: text, or its bytes. */
export type Body = string | Uint8Array;

/** A secret made ready once, for many signatures. Logging one shows no key bytes. */
export interface SigningKey {
  /** Keys `X-Service-Signature`: the secret's UTF-8 bytes, `whsec_` included. */
  readonly service: KeyObject;
  /** Keys `webhook-signature`: what follows `whsec_`, decoded, else the same as `service`. */
  readonly standard: KeyObject;
}

export interface SignOptions {
  /** The event's id. Without a full stop: it separates the signed fields. */
  id: string;
  timestamp: Date;
  key: SigningKey | string;
  /** The secret before a rotation, as long as its grace lasts. */
  previous?: SigningKey | string | undefined;
}

export type SignatureHeaders = {
  'X-Service-Signature': string;
  'X-Service-Signature-Previous'?: string;
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
};

// Exactly what the standardwebhooks package decodes, and it throws on the rest: padding may be missing,
// and a single character left over after the groups of four is dropped unseen.
const DECODABLE = /^(?=.{4})(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2,3}|[^=])?={0,2}$/s;

/**
 * Prepares a secret. A `whsec_` secret whose rest is not base64 is no Standard Webhooks secret; it is used as
 * it is, like every other secret that a user chose.
 */
export function signingKey(secret: string): SigningKey {
  if (secret === '') throw new TypeError('an empty secret would sign for everyone');
  const service = createSecretKey(secret, 'utf8');
  const encoded = secret.startsWith('whsec_') ? secret.slice('whsec_'.length) : '';
  const standard = DECODABLE.test(encoded) ? createSecretKey(encoded, 'base64') : service;
  return { service, standard };
}

/** Returns the headers that sign this body. */
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

export function serviceDigest(key: SigningKey, body: Body): string {
  return createHmac('sha256', key.service).update(body).digest('hex');
}

export function standardDigest(key: SigningKey, id: string, seconds: string, body: Body): string {
  return createHmac('sha256', key.standard).update(`${id}.${seconds}.`).update(body).digest('base64');
}

export function prepared(secret: SigningKey | string): SigningKey {
  return typeof secret === 'string' ? signingKey(secret) : secret;
}
