import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { type Dispatcher, request } from 'undici';
import type { NewEvent } from '../../src/events/event.js';
import { batchOf, type NewBatch } from '../../src/events/recording-store.js';
import { platformToken, type TestService } from './service.js';

export interface ApiResponse {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into responses of every shape
  body: any;
}

export interface RequestOptions {
  method?: string;
  token?: string | undefined;
  headers?: Record<string, string>;
  body?: unknown;
  /** Sent as it is. */
  raw?: string | Uint8Array;
}

/**
 * Sends one HTTP request. Parses the body if it is JSON, and does not read it if it never ends. Thousands of tests send
 * their requests this way, and `fetch` would take twice the CPU.
 */
export async function sendRequest(
  url: string,
  { method = 'GET', token, headers = {}, body, raw }: RequestOptions = {},
): Promise<ApiResponse> {
  const sent: Record<string, string> = { ...headers };
  if (token !== undefined) sent.authorization = `Bearer ${token}`;
  if (body !== undefined) sent['content-type'] ??= 'application/json';
  const response = await request(url, {
    method,
    headers: sent,
    body: body === undefined ? (raw ?? null) : JSON.stringify(body),
  });
  const received = new Headers(response.headers as Record<string, string>);
  const type = received.get('content-type') ?? '';
  const isEndless = type.startsWith('text/event-stream');
  if (isEndless) response.body.on('error', () => undefined).destroy();
  const text = isEndless ? '' : await textOf(response.body, received.get('content-encoding'));
  const isJson = /json/.test(type) && text !== '';
  return {
    status: response.statusCode,
    headers: received,
    text,
    body: isJson ? JSON.parse(text) : undefined,
  };
}

async function textOf(body: Dispatcher.ResponseData['body'], encoding: string | null): Promise<string> {
  const bytes = await body.bytes();
  // A response to HEAD names the encoding of a body that it does not have.
  if (encoding === null || bytes.length === 0) return Buffer.from(bytes).toString();
  const decompress = encoding === 'br' ? brotliDecompressSync : gunzipSync;
  return decompress(bytes).toString();
}

let counter = 0;

/** A valid event of ORG-acme; fields given replace the usual ones. */
export function event(fields: Record<string, unknown> = {}): Record<string, unknown> {
  counter += 1;
  return {
    type: 'invoice.paid',
    organization_id: 'ORG-acme',
    workspace_id: 'WS-1',
    actor: { type: 'user', id: 'USR-ada' },
    subject: { type: 'invoice', id: `INV-${counter}` },
    payload: {},
    ...fields,
  };
}

/** Events as the store takes them. */
export function batch(events: readonly Record<string, unknown>[]): NewBatch {
  return batchOf(events as unknown as NewEvent[]);
}

/** Records events through the platform listener and returns their ids and times. */
export async function record(
  service: TestService,
  ...events: unknown[]
): Promise<{ id: string; created_at: string }[]> {
  const response = await sendRequest(`${service.platformUrl}/platform/events`, {
    method: 'POST',
    token: platformToken,
    body: events,
  });
  if (response.status !== 201) throw new Error(`recording failed: ${response.text}`);
  return response.body.data;
}
