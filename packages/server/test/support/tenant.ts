import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Token } from '../../src/access/token.js';
import { type ApiResponse, event, type RequestOptions, record, sendRequest } from './client.js';
import { type Receiver, type Reply, startReceiver } from './receiver.js';
import { makeToken, type TestService } from './service.js';

// biome-ignore lint/suspicious/noExplicitAny: tests look into responses of every shape
type Body = any;

const yearMs = 365 * 86_400_000;

/** An organization nobody else uses, with a token of its own: tests that share a service do not meet. */
export class Tenant {
  readonly service: TestService;
  readonly organization: string;
  readonly token: string;

  constructor(service: TestService, organization: string, token: string) {
    this.service = service;
    this.organization = organization;
    this.token = token;
  }

  request(method: string, path: string, more: Omit<RequestOptions, 'method'> = {}): Promise<ApiResponse> {
    return sendRequest(`${this.service.publicUrl}${path}`, { method, token: this.token, ...more });
  }

  /** Sends a request that must succeed. Returns its `data`. */
  async data(method: string, path: string, body?: unknown): Promise<Body> {
    const response = await this.request(method, path, body === undefined ? {} : { body });
    if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status} ${response.text}`);
    return response.body?.data;
  }

  /** The body of a creation that is in order. */
  creation(fields: Record<string, unknown> = {}): Record<string, unknown> {
    return { organization_id: this.organization, event_types: ['*'], ...fields };
  }

  create(
    fields: Record<string, unknown> = {},
    more: Omit<RequestOptions, 'method' | 'body'> = {},
  ): Promise<ApiResponse> {
    return this.request('POST', '/v1/webhooks', { ...more, body: this.creation(fields) });
  }

  /** A webhook that this receiver verified. */
  async webhook(receiver: Receiver, fields: Record<string, unknown> = {}): Promise<Body> {
    const { status, text, body } = await this.create({ url: receiver.url, ...fields });
    if (status !== 201 || body.data.status !== 'active') throw new Error(`not active: ${text}`);
    return body.data;
  }

  /** A receiver that responds to deliveries with this, and a webhook that leads to it. */
  async connect(onDelivery: Reply = 200, fields: Record<string, unknown> = {}) {
    const receiver = await startReceiver({ onDelivery });
    return { receiver, webhook: await this.webhook(receiver, fields) };
  }

  async record(fields: Record<string, unknown> = {}): Promise<{ id: string; created_at: string }> {
    const [recorded] = await record(this.service, event({ organization_id: this.organization, ...fields }));
    return recorded!;
  }

  /** Events of this organization, newest first. */
  async events(filter: Record<string, string> = {}): Promise<Body[]> {
    const query = new URLSearchParams({ organization_id: this.organization, limit: '100', ...filter });
    return this.data('GET', `/v1/events?${query}`);
  }

  deliveries(webhook: { id: string }, query = ''): Promise<Body[]> {
    return this.data('GET', `/v1/webhooks/${webhook.id}/deliveries${query}`);
  }

  /** The deliveries of a webhook once there are as many and all of them are as expected. */
  async settled(webhook: { id: string }, count = 1, isDone: (delivery: Body) => boolean = () => true) {
    return eventually(
      () => this.deliveries(webhook, '?limit=100'),
      (list) => list.length === count && list.every(isDone),
    );
  }

  /** Makes the next attempt of what waits for this webhook, or is held for it, due now. */
  async bringForward(webhook: { id: string }): Promise<void> {
    await this.service.database.query({
      text: `
  update posthorn.deliveries set due_at = now()
   where organization_id = $1 and webhook_id = $2 and status = 'pending'
     and (leased_by is null or leased_by = 0)`,
      values: [this.organization, webhook.id],
    });
    await this.service.database.query({ text: "select pg_notify('posthorn_deliveries', '')" });
  }

  /** Returns the webhooks that an event goes to, whether its deliveries have rows yet or not. */
  async webhooksOf(recorded: { id: string }): Promise<string[]> {
    const { rows } = await this.service.database.query<{ webhook_id: string }>({
      text: `
  select webhook_id from posthorn.deliveries where organization_id = $1 and event_id = $2
   union
  select w.id
    from posthorn.webhooks w
   cross join posthorn.open_shares(w.organization_id, array[w.id], substr($2, 5, 16), null) o
   where w.organization_id = $1 and o.event_base + o.ordinal = posthorn.number_of($2)
   order by 1`,
      values: [this.organization, recorded.id],
    });
    return rows.map(({ webhook_id }) => webhook_id);
  }
}

export async function newTenant(service: TestService, token: Partial<Token> = {}): Promise<Tenant> {
  const organization = token.organization_id ?? `ORG-${randomBytes(6).toString('hex')}`;
  const text = await makeToken(service.database, {
    organization_id: organization,
    expires_at: new Date(Date.now() + yearMs),
    ...token,
  });
  return new Tenant(service, organization, text);
}

const eventuallyMs = 60_000;

/**
 * Reads until the value is as wanted, and returns it. For what shows only to those who look. The pauses grow: reading
 * every 15 ms would take a large part of a core from what the test waits for.
 */
export async function eventually<T>(
  read: () => Promise<T>,
  isWanted: (value: T) => boolean = () => true,
): Promise<T> {
  const deadlineMs = performance.now() + eventuallyMs;
  for (let pauseMs = 5; ; pauseMs = Math.min(2 * pauseMs, 80)) {
    let failure: unknown;
    try {
      const value = await read();
      if (isWanted(value)) return value;
      failure = new Error(`not so yet: ${JSON.stringify(value)}`);
    } catch (error) {
      failure = error;
    }
    if (performance.now() > deadlineMs) throw failure;
    await delay(pauseMs);
  }
}
