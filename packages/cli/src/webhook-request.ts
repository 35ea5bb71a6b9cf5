import { randomBytes } from 'node:crypto';
import type { Event } from '@posthorn/client';
import { type SigningKey, sign } from '@posthorn/receiver';
import { version } from './version.js';

/** A request as the service sends it: headers in their order, and the body. */
export interface WebhookRequest {
  headers: readonly (readonly [string, string])[];
  body: string;
}

/**
 * Returns the request that the service would send for an event: the same body, byte for byte, and the same headers. The
 * payload is the text that was recorded.
 */
export function webhookRequest(
  event: Event,
  payload: string,
  key: SigningKey | string,
  now: Date,
): WebhookRequest {
  const { id, type, created_at, organization_id, workspace_id, subject, actor } = event;
  const body =
    `{"id":"${id}","type":"${type}","created_at":"${created_at}",` +
    `"organization_id":${JSON.stringify(organization_id)},` +
    `"workspace_id":${JSON.stringify(workspace_id)},"data":${payload}}`;
  return {
    headers: [
      ['Content-Type', 'application/json'],
      ['Accept-Encoding', 'identity'],
      ['User-Agent', `Posthorn/${version}`],
      ...Object.entries(sign(body, { id, timestamp: now, key })),
      ['X-Service-Subject', referenceText(subject)],
      ['X-Service-Actor', referenceText(actor)],
      ['X-Service-Delivery', newId('WDLV', now)],
      ['X-Service-Attempt', '1'],
    ],
    body,
  };
}

function referenceText({ type, id }: Event['subject']): string {
  const text = `${type}/${id}`;
  return /^[!-~]+$/.test(text) ? text : encodeURI(text);
}

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Returns a new identifier of the form that the service uses: the time, then random characters. */
export function newId(prefix: 'EVT' | 'WDLV', now: Date): string {
  let time = '';
  for (let rest = now.getTime(), digit = 0; digit < 10; digit += 1, rest = Math.floor(rest / 32)) {
    time = alphabet.charAt(rest % 32) + time;
  }
  return `${prefix}-${time}${Array.from(randomBytes(16), (byte) => alphabet.charAt(byte & 31)).join('')}`;
}
