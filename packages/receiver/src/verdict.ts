import { type Verification, verify } from './verify.js';

/** A saved or pasted request, as bytes: what is verified must not be changed by decoding. */
export interface SavedRequest {
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
}

/** The headers with the two signatures that Posthorn sends. */
export const signatures = ['x-service-signature', 'webhook-signature'] as const;
export type Signature = (typeof signatures)[number];

export interface VerdictOptions {
  /** How much the time of the request may differ from now. Default: any time, because saved requests are usually old. */
  toleranceSeconds?: number | undefined;
  /** Check only this signature. Default: both must be valid. */
  signature?: Signature | undefined;
}

const anyAge = Number.MAX_SAFE_INTEGER;
type Refused = Extract<Verification, { ok: false }>;

/** What is known about a request. It is `partial` if one of its signatures is valid and the other is not. */
export type Verdict = Verification & { partial?: true };

/**
 * Checks a request more strictly than a receiver, which needs one valid signature: Posthorn sends two, so a request
 * with one was changed. If a signature is not valid, says how the body was changed, as far as that can be found out.
 */
export function verdictOf(saved: SavedRequest, secret: string, options: VerdictOptions = {}): Verdict {
  const { signature, toleranceSeconds = anyAge } = options;
  if (signature === undefined) {
    const partial = partialIn(saved, secret);
    if (partial) return { ...partial, partial: true };
  }
  const request = signature === undefined ? saved : { ...saved, headers: headersWith(signature, saved) };
  const verification = verify(request.body, request.headers, secret, { toleranceSeconds });
  return verification.ok ? verification : explained(verification, request, secret);
}

/** Returns the headers without those that only the other signature needs. */
function headersWith(signature: Signature, { headers }: SavedRequest): SavedRequest['headers'] {
  const others = signature === 'webhook-signature' ? 'x-service-signature' : 'webhook-';
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(others)));
}

/**
 * Returns why the request is refused if only one of its signatures is valid. Posthorn sends both, so something changed
 * the request, and a receiver that checks the other signature refuses it.
 */
function partialIn(request: SavedRequest, secret: string): Refused | undefined {
  const checks = signatures.map((signature) => ({
    signature,
    result: verify(request.body, headersWith(signature, request), secret, { toleranceSeconds: anyAge }),
  }));
  const valid = checks.find(({ result }) => result.ok);
  const invalid = checks.find(({ result }) => !result.ok);
  if (!valid || !invalid || invalid.result.ok) return undefined;
  const { reason, detail } = faultOf(invalid.signature, invalid.result);
  const which = `${titles[valid.signature]} is valid, but ${titles[invalid.signature]} is not.`;
  return { ok: false, reason, detail: `${which} ${detail}` };
}

/** Returns what is wrong with a signature. The other one is valid, so neither the body nor the secret is wrong. */
function faultOf(signature: Signature, { reason, detail }: Refused): Pick<Refused, 'reason' | 'detail'> {
  const isService = signature === 'x-service-signature';
  if (reason === 'missing_signature' && isService)
    return { reason, detail: 'The request has no X-Service-Signature header.' };
  if (['missing_signature', 'malformed_signature', 'malformed_timestamp'].includes(reason))
    return { reason, detail };
  const signed = isService ? 'the body' : 'webhook-id, webhook-timestamp and the body';
  return { reason: 'signature_mismatch', detail: `It does not match ${signed}.` };
}

const titles: Record<Signature, string> = {
  'x-service-signature': 'X-Service-Signature',
  'webhook-signature': 'webhook-signature',
};

/** Explains why no signature matches: how the body was changed, or else that the secret or the body can be wrong. */
function explained(refused: Refused, { body, headers }: SavedRequest, secret: string): Refused {
  if (refused.reason !== 'signature_mismatch' && refused.reason !== 'body_not_raw') return refused;
  const { 'content-length': declared, ...others } = headers;
  const check = (other: Uint8Array) => verify(other, others, secret, { toleranceSeconds: anyAge });
  const [, change] = beforeChanges(body).find(([other]) => check(other).ok) ?? [];
  if (change !== undefined) return { ok: false, reason: 'body_not_raw', detail: change };
  const again = check(body);
  if (!again.ok && again.reason === 'body_not_raw') return again;
  if (declared !== undefined && Number(declared) !== body.length) return refused;
  return { ...refused, detail: secretOrBody };
}

/** Returns what the body may have been before a tool or a proxy changed it, and each change in a sentence. */
function beforeChanges(body: Uint8Array): [Uint8Array, string][] {
  const text = Array.from(body, (byte) => String.fromCharCode(byte)).join('');
  const bytes = (other: string) => Uint8Array.from(other, (letter) => letter.charCodeAt(0));
  return [
    [bytes(text.replace(/\s+$/, '')), 'White space was added at the end of the body.'],
    [bytes(`${text}\n`), 'A line break at the end of the body was removed.'],
    [bytes(text.replaceAll('\r\n', '\n')), 'The line breaks in the body were changed to CRLF.'],
    [bytes(text.replaceAll(/\r?\n/g, '\r\n')), 'The line breaks in the body were changed to LF.'],
    [bytes(text.replace(/^\u00ef\u00bb\u00bf/, '')), 'A byte order mark was added at the start of the body.'],
  ];
}

const secretOrBody =
  "Either the secret is not the webhook's secret, or the body was changed in transit, for example parsed and " +
  'serialized again by a proxy or a framework.';

const lineFeed = 10;
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const headerLine = /^(?:> ?)?([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*(.*?)[ \t]*$/;
const requestLine = /^(?:> ?)?[A-Z]+ \S+( HTTP\/[\d.]+)?$/;

/**
 * Reads a saved or pasted request: headers, an empty line and the body, or JSON with `headers` and `body`. Returns
 * undefined if it is neither.
 */
export function readRequest(bytes: Uint8Array): SavedRequest | undefined {
  const asJson = bytes[0] === 0x7b ? jsonRequest(decoder.decode(bytes)) : undefined;
  if (asJson) return asJson;
  const headers: Record<string, string> = {};
  let at = 0;
  let isFirst = true;
  while (at < bytes.length) {
    const end = bytes.indexOf(lineFeed, at);
    const next = end < 0 ? bytes.length : end + 1;
    const line = decoder.decode(bytes.subarray(at, end < 0 ? bytes.length : end)).replace(/\r$/, '');
    at = next;
    if (/^(> ?)?$/.test(line))
      return Object.keys(headers).length > 0 ? { headers, body: bytes.subarray(at) } : undefined;
    const [, name, value = ''] = headerLine.exec(line) ?? [];
    if (name !== undefined) headers[name.toLowerCase()] = value;
    else if (!isFirst || !requestLine.test(line)) return undefined;
    isFirst = false;
  }
  return Object.keys(headers).length > 0 ? { headers, body: new Uint8Array() } : undefined;
}

function jsonRequest(text: string): SavedRequest | undefined {
  try {
    const { headers, body } = JSON.parse(text) as { headers?: Record<string, string>; body?: unknown };
    if (!headers || typeof body !== 'string') return undefined;
    const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]);
    return { headers: Object.fromEntries(lower), body: new TextEncoder().encode(body) };
  } catch {
    return undefined;
  }
}
