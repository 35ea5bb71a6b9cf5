import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import { platformToken } from './node.js';
import { within } from './waiting.js';

export const organization = 'ORG-faults';
const eventType = 'agent.run.completed';

const responseMs = 30_000;
const retryMs = 200;
const giveUpMs = 120_000;

/**
 * Records events at a steady pace, as a platform does. A request with idempotency keys is repeated until it is
 * acknowledged. One without keys is sent once: if no response comes, it is in doubt whether its events were recorded.
 *
 * `random` decides what is offered. Which node gets a request, and when it is repeated, depends on how fast this machine
 * is, so it must not draw from the same numbers.
 */
export class Producer {
  #nodes;
  #random;
  #pools = new Map();
  #running;
  #inFlight = new Set();
  #stopped = false;
  #next = 0;
  #perSecond;
  #batchMax;
  #payloadMax;
  #inFlightMax;
  /** The ID of each acknowledged event, by its number. */
  acknowledged = [];
  /** How often each status occurred, and how often there was no response. */
  statuses = new Map();
  /** Responses that break the contract. */
  dishonest = [];
  slowestMs = 0;

  constructor(nodes, random, { perSecond = 200, batchMax = 20, payloadMax = 1_000, inFlightMax = 64 }) {
    this.#nodes = nodes;
    this.#random = random;
    this.#perSecond = perSecond;
    this.#batchMax = batchMax;
    this.#payloadMax = payloadMax;
    this.#inFlightMax = inFlightMax;
  }

  /** How many events were offered so far. */
  get offered() {
    return this.#next;
  }

  get acknowledgedCount() {
    let count = 0;
    for (const id of this.acknowledged) if (id !== undefined) count += 1;
    return count;
  }

  /** Offers events at a steady pace until it is stopped, or until it has offered `count` more. */
  start(count = Number.POSITIVE_INFINITY) {
    this.#stopped = false;
    this.#running = Promise.all([this.#running, this.#pace(count)]);
  }

  /** Sends further requests to these nodes only. */
  only(nodes) {
    this.#nodes = nodes;
  }

  async #pace(count) {
    const startedMs = performance.now();
    const before = this.#next;
    while (!this.#stopped && this.#next < before + count) {
      const due = ((performance.now() - startedMs + 1) * this.#perSecond) / 1_000;
      const target = before + Math.min(due, count);
      while (this.#next < target && this.#inFlight.size < this.#inFlightMax) this.offer();
      await wait(5);
    }
  }

  /** Offers one request of random size now, and returns a promise for its end. */
  offer(size = this.#random.between(1, this.#batchMax)) {
    const numbers = Array.from({ length: size }, (_, index) => this.#next + index);
    this.#next += size;
    const isKeyed = this.#random.next() < 0.5;
    const sending = this.#send(numbers, isKeyed).finally(() => this.#inFlight.delete(sending));
    this.#inFlight.add(sending);
    return sending;
  }

  async #send(numbers, isKeyed) {
    const body = JSON.stringify(numbers.map((number) => this.#event(number, isKeyed)));
    const deadlineMs = performance.now() + giveUpMs;
    for (;;) {
      const ids = await this.#post(body);
      if (ids) {
        numbers.forEach((number, index) => {
          this.acknowledged[number] = ids[index];
        });
        return;
      }
      if (!isKeyed || performance.now() > deadlineMs) return;
      await wait(retryMs * (0.5 + Math.random()));
    }
  }

  #event(number, isKeyed) {
    return {
      type: eventType,
      organization_id: organization,
      workspace_id: `WS-${number % 7}`,
      actor: { type: 'agent', id: `AGT-${number % 11}` },
      subject: { type: 'run', id: `RUN-${number}` },
      payload: {
        ...{ service_line_id: 'LIN-1', duration_ms: number, tokens_used: 1, outcome: 'success' },
        note: 'x'.repeat(this.#random.between(0, this.#payloadMax)),
      },
      ...(isKeyed && { idempotency_key: `faults-${number}` }),
    };
  }

  /** Returns the IDs of the recorded events, or undefined if they were not acknowledged. */
  async #post(body) {
    const node = this.#nodes[Math.floor(Math.random() * this.#nodes.length)];
    const startedMs = performance.now();
    try {
      const {
        statusCode,
        headers,
        body: response,
      } = await this.#pool(node).request({
        ...{ path: '/platform/events', method: 'POST', body },
        headers: { authorization: `Bearer ${platformToken}`, 'content-type': 'application/json' },
      });
      const text = await response.text();
      this.#count(statusCode);
      this.slowestMs = Math.max(this.slowestMs, performance.now() - startedMs);
      if (statusCode === 201) return JSON.parse(text).data.map(({ id }) => id);
      this.#judge(statusCode, headers, text);
    } catch (error) {
      this.#count(error.code ?? error.message);
    }
    return undefined;
  }

  /** The only honest refusals are 503 and 429, with the time to wait and without internals. */
  #judge(status, headers, text) {
    const isHonest =
      (status === 503 || status === 429) &&
      /^application\/problem\+json/.test(headers['content-type']) &&
      Number(headers['retry-after']) > 0 &&
      !/select |insert |ECONN|\.js:|\.ts:|posthorn\.[a-z]/i.test(text);
    if (!isHonest && this.dishonest.length < 20) this.dishonest.push(`${status}: ${text.slice(0, 300)}`);
  }

  #count(status) {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }

  #pool(node) {
    const known = this.#pools.get(node);
    if (known) return known;
    const pool = new Pool(node.platformUrl, {
      ...{
        connections: this.#inFlightMax,
        headersTimeout: responseMs,
        bodyTimeout: responseMs,
        connectTimeout: 2_000,
      },
    });
    this.#pools.set(node, pool);
    return pool;
  }

  /** Offers nothing more, and waits until every request has come to its end. */
  async stop() {
    this.#stopped = true;
    await this.#running;
    await within('the end of all recording', Promise.all(this.#inFlight), giveUpMs + responseMs);
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
    this.#pools.clear();
  }
}
