import type * as api from './api.js';
import { type List, listAt } from './list.js';
import { headerOption } from './option-values.js';
import { Tail, type TailOptions } from './tail.js';
import { at, newKey, type Query, Transport, type TransportOptions } from './transport.js';

export interface CallOptions {
  /** Cancels the call, which then throws the signal's reason. */
  signal?: AbortSignal | undefined;
}

export interface WriteOptions extends CallOptions {
  /**
   * Makes it safe to repeat the call for 24 hours. By default, each call generates its own key, which covers
   * only its own retries.
   */
  idempotencyKey?: string | undefined;
}

/** The public API: `new Posthorn({ url, token })`. Works in Node.js and in browsers. */
export class Posthorn {
  readonly #transport: Transport;

  constructor(options: TransportOptions) {
    this.#transport = new Transport(options);
  }

  readonly events = {
    /** Lists events, newest first unless `order` is `asc`. */
    list: (query: api.ListEventsQuery, options?: CallOptions) =>
      this.#list<api.Event>('/v1/events', query, options),
    /** Returns one event. */
    get: (eventId: string, options?: CallOptions) => this.#get<api.Event>(at`/v1/events/${eventId}`, options),
    /** Returns the body of the response for one event, as text: all numbers keep their digits. */
    getText: (eventId: string, options?: CallOptions) =>
      this.#transport.text(at`/v1/events/${eventId}`, options?.signal),
    /** Follows new events. Reconnects automatically and misses none. */
    tail: (query: api.TailEventsQuery, options: TailOptions = {}) =>
      new Tail(this.#transport, query, options),
    /**
     * Lists the deliveries of one event to all webhooks, including those that are waiting for their first
     * attempt.
     */
    deliveries: (eventId: string, query?: api.ListEventDeliveriesQuery, options?: CallOptions) =>
      this.#list<api.Delivery>(at`/v1/events/${eventId}/deliveries`, query, options),
  };

  readonly eventTypes = {
    /** Lists every event type, with the JSON Schema and an example of its payload. */
    list: (options?: CallOptions) => this.#list<api.EventType>('/v1/event-types', {}, options),
  };

  readonly webhooks = {
    list: (query?: api.ListWebhooksQuery, options?: CallOptions) =>
      this.#list<api.Webhook>('/v1/webhooks', query, options),
    /**
     * Creates a webhook and waits for the verification of its URL. If you pass no secret, the service
     * generates one, and the result contains it. Prefer to pass one: if a response is lost, the client repeats
     * the request, and the repeated response does not contain a generated secret.
     */
    create: (webhook: api.CreateWebhookRequest, options?: WriteOptions) =>
      this.#post<api.CreatedWebhook>('/v1/webhooks', webhook, options),
    /** Returns which past events a webhook would have got. Changes nothing. */
    preview: (preview: api.PreviewWebhookRequest, options?: CallOptions) =>
      this.#send<api.PreviewResult>('POST', '/v1/webhooks/preview', preview, options),
    get: (webhookId: string, options?: CallOptions) =>
      this.#get<api.Webhook>(at`/v1/webhooks/${webhookId}`, options),
    change: (webhookId: string, change: api.ChangeWebhookRequest, options?: CallOptions) =>
      this.#send<api.Webhook>('PATCH', at`/v1/webhooks/${webhookId}`, change, options),
    /** Deletes a webhook. Fails with `not_found` if the webhook no longer exists. */
    delete: (webhookId: string, options?: CallOptions): Promise<void> =>
      this.#transport.delete(at`/v1/webhooks/${webhookId}`, options?.signal),
    verify: (webhookId: string, options?: WriteOptions) =>
      this.#post<api.Webhook>(at`/v1/webhooks/${webhookId}/verify`, undefined, options),
    /**
     * Replaces the secret. If you pass none, the service generates one, and the result contains it. Prefer to pass
     * one: if a response is lost, the client repeats the request, and the repeated response does not contain a
     * generated secret.
     */
    rotateSecret: (webhookId: string, rotation: api.RotateSecretRequest = {}, options?: WriteOptions) =>
      this.#post<api.RotatedWebhook>(at`/v1/webhooks/${webhookId}/rotate-secret`, rotation, options),
    /** Sends one test event. The call succeeds even if the receiver fails: check `status`. */
    test: (webhookId: string, test: api.TestWebhookRequest, options?: CallOptions) =>
      this.#send<api.TestResult>('POST', at`/v1/webhooks/${webhookId}/test`, test, options),
    /** Returns statistics for the last 48 hours. */
    stats: (webhookId: string, options?: CallOptions) =>
      this.#get<api.WebhookStats>(at`/v1/webhooks/${webhookId}/stats`, options),
    deliveries: (webhookId: string, query?: api.ListDeliveriesQuery, options?: CallOptions) =>
      this.#list<api.Delivery>(at`/v1/webhooks/${webhookId}/deliveries`, query, options),
    /** Sends past events again, in the background. */
    replay: (webhookId: string, replay: api.ReplayRequest, options?: WriteOptions) =>
      this.#post<api.Replay>(at`/v1/webhooks/${webhookId}/replay`, replay, options),
    getReplay: (webhookId: string, replayId: string, options?: CallOptions) =>
      this.#get<api.Replay>(at`/v1/webhooks/${webhookId}/replays/${replayId}`, options),
  };

  readonly deliveries = {
    /** Lists the deliveries of all webhooks. */
    list: (query?: api.ListAllDeliveriesQuery, options?: CallOptions) =>
      this.#list<api.Delivery>('/v1/deliveries', query, options),
    /** Returns a delivery with all its attempts. */
    get: (webhookId: string, deliveryId: string, options?: CallOptions) =>
      this.#get<api.DeliveryDetail>(at`/v1/webhooks/${webhookId}/deliveries/${deliveryId}`, options),
    /**
     * Delivers the event again. If the delivery is still waiting for an attempt, that attempt is made now
     * instead.
     */
    redeliver: (webhookId: string, deliveryId: string, options?: WriteOptions) =>
      this.#post<api.WaitingDelivery>(
        at`/v1/webhooks/${webhookId}/deliveries/${deliveryId}/redeliver`,
        undefined,
        options,
      ),
  };

  readonly auditLogs = {
    list: (query?: api.ListAuditLogsQuery, options?: CallOptions) =>
      this.#list<api.AuditEntry>('/v1/audit-logs', query, options),
    /** Checks whether one of the newest entries was altered or removed. */
    chain: (options?: CallOptions) => this.#get<api.AuditChain>('/v1/audit-logs/chain', options),
  };

  /** Returns what the service knows about the token of this client. */
  token(options?: CallOptions): Promise<api.Token> {
    return this.#get('/v1/token', options);
  }

  /** Returns statistics over time. */
  async stats(query: api.GetStatsQuery = {}, options?: CallOptions): Promise<api.Stats> {
    const request = { query, signal: options?.signal };
    const { data } = await this.#transport.json<{ data: api.Stats }>('GET', '/v1/stats', request);
    return data;
  }

  #get<T>(path: string, options?: CallOptions): Promise<T> {
    return this.#transport.send('GET', path, undefined, options?.signal);
  }

  #send<T>(method: string, path: string, body: unknown, options?: CallOptions): Promise<T> {
    return this.#transport.send(method, path, body, options?.signal);
  }

  async #post<T>(path: string, body: unknown, options: WriteOptions = {}): Promise<T> {
    const headers = { 'Idempotency-Key': headerOption('idempotencyKey', options.idempotencyKey ?? newKey()) };
    const request = { body, headers, signal: options.signal, repeatable: true };
    const { data } = await this.#transport.json<{ data: T }>('POST', path, request);
    return data;
  }

  #list<T>(path: string, query: Query = {}, options: CallOptions = {}): List<T> {
    return listAt(this.#transport, path, query, options.signal);
  }
}
