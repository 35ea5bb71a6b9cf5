import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Event } from '@posthorn/client';
import { type SigningKey, sign } from '@posthorn/receiver';
import { CommandFailure } from './command.js';
import { oneOf } from './listing.js';
import { version } from './version.js';

/** A request as the service sends it: headers in their order, and the body. */
export interface WebhookRequest {
  headers: readonly (readonly [string, string])[];
  body: string;
}

export const formatOption = {
  ...oneOf('envelope', 'event', 'thin', 'cloudevents'),
  description: 'Format of the body, as in webhooks.',
  fallback: 'envelope',
  field: 'format',
};
type Format = ReturnType<typeof formatOption.read>;

/**
 * Returns the request that the service would send for an event: the same body, byte for byte, and the same headers. The
 * payload is the text that was recorded.
 */
export function webhookRequest(
  event: Event,
  payload: string,
  { format, key, now }: { format: Format; key: SigningKey | string; now: Date },
): WebhookRequest {
  const body = bodyOf(format, event, payload);
  return {
    headers: [
      ['Content-Type', format === 'cloudevents' ? 'application/cloudevents+json' : 'application/json'],
      ['Accept-Encoding', 'identity'],
      ['User-Agent', `Posthorn/${version}`],
      ...Object.entries(sign(body, { id: event.id, timestamp: now, key })),
      ['X-Service-Subject', referenceText(event.subject)],
      ['X-Service-Actor', referenceText(event.actor)],
      ['X-Service-Delivery', newId('WDLV', now)],
      ['X-Service-Attempt', '1'],
    ],
    body,
  };
}

function bodyOf(format: Format, event: Event, payload: string): string {
  const { id, type, created_at, organization_id, workspace_id, subject, actor } = event;
  switch (format) {
    case 'envelope':
      return `${opened({ id, type, created_at, organization_id, workspace_id })},"data":${payload}}`;
    case 'event':
    case 'thin': {
      const shown = format === 'event' ? `,"payload":${payload}` : '';
      return `${opened({ id, type, organization_id, workspace_id, actor, subject })}${shown},"created_at":"${created_at}"}`;
    }
    case 'cloudevents': {
      const attributes = {
        specversion: '1.0',
        id,
        source: `/organizations/${encodeURIComponent(organization_id)}`,
        type,
        time: created_at,
        subject: `${subject.type}/${subject.id}`,
        datacontenttype: 'application/json',
        organizationid: organization_id,
        ...(workspace_id !== null && { workspaceid: workspace_id }),
        actortype: actor.type,
        actorid: actor.id,
      };
      return `${opened(attributes)},"data":${payload}}`;
    }
  }
}

/** Returns the JSON of an object without the brace that ends it. */
const opened = (fields: object) => JSON.stringify(fields).slice(0, -1);

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

/** Returns a request as the text that `verify --request` reads: request line, headers, an empty line, the body. */
export function requestText(url: URL | undefined, { headers, body }: WebhookRequest): string {
  const path = url ? `${url.pathname}${url.search}` : '/';
  const lines = [
    `POST ${path} HTTP/1.1`,
    `Host: ${url?.host ?? 'localhost'}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** Writes a request to a file in the directory, whatever characters the name has, and returns its path. */
export async function saveRequest(directory: string, name: string, text: string): Promise<string> {
  const file = join(directory, `${encodeURIComponent(name)}.http`);
  try {
    await mkdir(directory, { recursive: true });
    await writeFile(file, text);
  } catch (error) {
    throw new CommandFailure(
      `Cannot save to ${file}: ${(error as Error).message}. Use another --save directory.`,
    );
  }
  return file;
}
