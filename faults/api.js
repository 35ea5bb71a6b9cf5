import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import { platformToken } from './node.js';
import { organization } from './producer.js';

const pageSize = 100;
const requestMs = 15_000;
const triesMax = 20;
const pollMs = 30_000;

/** The public API of one node, as an integrator uses it. */
export class Api {
  #pool;
  #token;

  static async open(node) {
    const api = new Api();
    const response = await fetch(`${node.platformUrl}/platform/tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${platformToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ organization_id: organization }),
    });
    if (response.status !== 201) throw new Error(`no token: ${await response.text()}`);
    api.#token = (await response.json()).data.token;
    api.use(node);
    return api;
  }

  /** Sends further requests to another node. */
  use(node) {
    this.#pool = new Pool(node.publicUrl, {
      ...{ connections: 4, headersTimeout: requestMs, bodyTimeout: requestMs },
    });
  }

  /** Repeats a request while the service says that it is unavailable, as clients should. */
  async request(method, path, body) {
    for (let tries = 1; ; tries += 1) {
      const response = await this.#send(method, path, body).catch((error) => ({ status: error.message }));
      if (response.status >= 200 && response.status <= 299) return response.body;
      if (tries === triesMax) throw new Error(`${method} ${path}: ${response.status} ${response.text}`);
      await wait(300);
    }
  }

  async #send(method, path, body) {
    const { statusCode, body: response } = await this.#pool.request({
      ...{ method, path, ...(body && { body: JSON.stringify(body) }) },
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body && { 'content-type': 'application/json' }),
      },
    });
    const text = await response.text();
    return { status: statusCode, text, body: text === '' ? undefined : JSON.parse(text) };
  }

  async createWebhook(url, secret, fields = {}) {
    const { data } = await this.request('POST', '/v1/webhooks', {
      ...{ organization_id: organization, url, secret, event_types: ['agent.*'], ...fields },
    });
    if (data.status !== 'active') throw new Error(`the webhook is not active: ${JSON.stringify(data)}`);
    return data.id;
  }

  /**
   * Reads the newest event again and again, until `isOver` returns true and a request was refused with 429. Returns all
   * statuses.
   */
  async poll(isOver) {
    const path = `/v1/events?organization_id=${organization}&limit=1`;
    const statuses = new Set();
    const deadlineMs = performance.now() + pollMs;
    while (!isOver() || (!statuses.has(429) && performance.now() < deadlineMs)) {
      const { status } = await this.#send('GET', path).catch((error) => ({ status: error.message }));
      statuses.add(status);
    }
    return statuses;
  }

  /** Yields every event of the organization, in order. */
  events() {
    return this.#pages(`/v1/events?organization_id=${organization}&order=asc&type=agent.run.completed`);
  }

  /** Yields every event about this subject, in order. */
  eventsAbout(subjectId) {
    return this.#pages(`/v1/events?organization_id=${organization}&order=asc&subject_id=${subjectId}`);
  }

  /** Yields every delivery of a webhook. */
  deliveries(webhookId) {
    return this.#pages(`/v1/webhooks/${webhookId}/deliveries?`);
  }

  /** Returns the ID of the event about this subject, or undefined. */
  async findEvent(subjectId) {
    const { data } = await this.request(
      'GET',
      `/v1/events?organization_id=${organization}&subject_id=${subjectId}`,
    );
    return data[0]?.id;
  }

  /** Returns whether all deliveries of an event are final. */
  async isFinal(eventId) {
    const { data } = await this.request('GET', `/v1/events/${eventId}/deliveries`);
    return data.length > 0 && data.every(({ final }) => final);
  }

  /** Returns the attempts of a delivery. */
  async attempts(webhookId, deliveryId) {
    const { data } = await this.request('GET', `/v1/webhooks/${webhookId}/deliveries/${deliveryId}`);
    return data.attempt_log;
  }

  async *#pages(path) {
    let cursor;
    for (;;) {
      const from = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { data, meta } = await this.request('GET', `${path}&limit=${pageSize}${from}`);
      yield* data;
      if (!meta.has_more) return;
      cursor = meta.cursor;
    }
  }

  close() {
    return this.#pool.destroy();
  }
}
