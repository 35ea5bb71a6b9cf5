import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

/** A body as it is sent: text, or its bytes. */
export type Body = string | Uint8Array;

/** A secret prepared for many signatures. Logging it shows no key bytes. */
export interface SigningKey {
  /** Key of `X-Service-Signature`: the UTF-8 bytes of the secret, including `whsec_`. */
  readonly service: KeyObject;
  /** Key of `webhook-signature`: the decoded part after `whsec_`, or else the same as `service`. */
  readonly standard: KeyObject;
}

export interface SignOptions {
  /** The event ID. It must not contain a period, which separates the signed fields. */
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

// Exactly what the standardwebhooks package decodes; it throws on anything else. Padding may be missing, and a single
// character after the groups of four is silently dropped.
const DECODABLE = /^(?=.{4})(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2,3}|[^=])?={0,2}$/s;

/**
 * Prepares a secret for signing. A `whsec_` secret that is not base64 is not a Standard Webhooks secret and is used
 * as it is, like any other secret that a user chose. Throws if the secret is empty.
 */
export function signingKey(secret: string): SigningKey {
  if (secret === '') throw new TypeError('the secret is empty, so anyone could sign requests');
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
