import { join } from 'node:path';
import { Api } from './api.js';
import { Cluster } from './cluster.js';
import { balance } from './ledger.js';
import { Node } from './node.js';
import { makePlace } from './place.js';
import { Producer } from './producer.js';
import { PostgresProxy } from './proxy.js';
import { Receivers } from './receivers.js';
import { template } from './template.js';
import { until } from './waiting.js';

const secret = 'faults-signing-secret';
const everything = { filter: null, passes: () => true };
/** Long enough for the last retries and the end of the longest lease, even on a busy machine. */
const settleMs = 90_000;
/** How many duplicates of a webhook are looked up. */
const lateMax = 1_000;

/**
 * Everything that one run needs: PostgreSQL, a proxy in front of it, nodes, receivers and a producer. It notes each
 * fault with its time, and draws up the ledger at the end.
 */
export class World {
  #place = makePlace();
  #doors = [];
  #api;
  #closing = [];
  #checks = [];
  #broken = [];
  #startMb;
  faults = [];
  nodes = [];
  cluster;
  proxy;
  receivers;
  producer;

  static async open(shape, load) {
    const world = new World();
    try {
      await world.#build(shape, load);
    } catch (error) {
      await world.close();
      throw error;
    }
    return world;
  }

  async #build(shape, random) {
    const {
      nodes = 1,
      doors = 2,
      load = {},
      filters = {},
      https,
      base,
      walMb,
      place,
      prepare,
      started,
    } = shape;
    this.cluster = await Cluster.at(place?.(this) ?? join(this.path, 'primary'));
    this.cluster.copy(await template(walMb));
    await prepare?.(this);
    await this.cluster.start();
    await started?.(this);
    this.proxy = await PostgresProxy.open(this.cluster.socket);
    this.receivers = await Receivers.start();
    const settings = Array.isArray(nodes) ? nodes : Array(nodes).fill({});
    for (const [index, own] of settings.entries()) {
      const node = await Node.prepare(`node-${index + 1}`, this.path, {
        DATABASE_URL: this.proxy.url,
        ...own,
      });
      this.nodes.push(node);
    }
    await Promise.all(this.nodes.map((node) => node.start()));
    this.#api = await Api.open(this.nodes[0]);
    if (https) await this.receivers.certify(https.key, https.cert);
    for (let number = 1; number <= doors; number += 1)
      await this.openDoor(`/hook-${number}`, base?.(this, number), filters[`/hook-${number}`]);
    this.#startMb = Math.max(...this.nodes.map((node) => node.memoryMb.now));
    this.producer = new Producer(this.nodes, random, load);
  }

  get path() {
    return this.#place.path;
  }

  get doors() {
    return this.#doors.map(({ path }) => path);
  }

  /** Creates a webhook with a receiver of its own. It gets the events whose numbers pass its filter. */
  async openDoor(path, base = this.receivers.secureUrl ?? this.receivers.url, filter = everything) {
    await this.receivers.open(path, secret);
    const id = await this.#api.createWebhook(`${base}${path}`, secret, { filter: filter.filter });
    this.#doors.push({ path, id, passes: filter.passes });
    return id;
  }

  /** Changes the webhook of a door. */
  change(path, fields) {
    return this.#api.request('PATCH', `/v1/webhooks/${this.#idOf(path)}`, fields);
  }

  /** Returns the types of the events about the incidents of a door, in their order. */
  async incidents(path) {
    const types = await collect(this.#api.eventsAbout(this.#idOf(path)), ({ type }) => type);
    return types.filter((type) => /failing|recovered/.test(type));
  }

  #idOf(path) {
    return this.#doors.find((door) => door.path === path).id;
  }

  /** Returns the ID of the event with this number, or undefined if it was not recorded. */
  findEvent(number) {
    return this.#api.findEvent(`RUN-${number}`);
  }

  /** Returns whether no attempt of an event will follow, at any webhook. */
  isFinal(eventId) {
    return this.#api.isFinal(eventId);
  }

  /** Returns a client of the public API with a token of its own. */
  openReader() {
    return Api.open(this.nodes[0]);
  }

  /** Calls `close` when this world is closed. */
  closeLater(close) {
    this.#closing.push(close);
  }

  /** Notes a promise that did not hold. */
  expect(promise, holds) {
    if (!holds) this.#broken.push(`broken: ${promise}`);
  }

  /** Checks a promise against the ledger, at the end. */
  check(promise, holds) {
    this.#checks.push({ promise, holds });
  }

  /** Returns the numbers of the events whose deliveries are all final. */
  async settled() {
    const lists = await Promise.all(
      this.#doors.map(({ id }) => collect(this.#api.deliveries(id), summaryOf)),
    );
    const finals = lists.map((list) => new Set(list.filter(({ final }) => final).map((one) => one.event_id)));
    const isFinal = (id) => finals.every((ids) => ids.has(id));
    const { acknowledged } = this.producer;
    return new Set([...acknowledged.keys()].filter((number) => isFinal(acknowledged[number])));
  }

  /**
   * Does something to the system, and notes when it began and when it was over. What was `settled` before it must not be
   * sent again because of it.
   */
  async fault(kind, work, settled = new Set()) {
    const fault = { kind, settled, fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
    this.faults.push(fault);
    await work();
    fault.toMs = Date.now();
  }

  /**
   * Stops recording and waits until every recorded event has arrived and every delivery is final. Returns the ledger.
   * If that never happens, the ledger says what is missing.
   */
  async settle() {
    await this.producer.stop();
    const { acknowledged, statuses, dishonest, slowestMs, offered } = this.producer;
    const complete = async () => {
      const progress = await this.receivers.progress();
      const numbers = [...acknowledged.keys()].filter((number) => acknowledged[number] !== undefined);
      return this.#doors.every(({ path, passes }) => progress[path] >= numbers.filter(passes).length);
    };
    const arrivedMs = performance.now();
    await until('the arrival of every event', complete, settleMs, 100).catch(() => undefined);
    const recoveryMs = performance.now() - arrivedMs;
    let books = await this.#books(acknowledged);
    // The last outcomes are written a moment after the receivers have responded.
    const deadlineMs = performance.now() + settleMs / 3;
    while (books.faulty.length > 0 && performance.now() < deadlineMs) {
      await new Promise((waited) => setTimeout(waited, 500));
      books = await this.#books(acknowledged);
    }
    for (const { promise, holds } of this.#checks) this.expect(promise, await holds(books));
    books.faulty.push(...this.#broken);
    for (const text of dishonest) books.faulty.push(`a response that the contract does not allow: ${text}`);
    return {
      ...{ offered, ...books, recoveryMs: Math.round(recoveryMs), slowestMs: Math.round(slowestMs) },
      statuses: Object.fromEntries(statuses),
      faults: this.faults.map(({ kind }) => kind),
      memoryMb: this.#memoryMb(),
    };
  }

  /** Returns the memory of the largest node: before the load, at its highest, and now. */
  #memoryMb() {
    const nodes = this.nodes.filter((node) => node.isRunning).map((node) => node.memoryMb);
    const largest = (read) => Math.max(...nodes.map(read));
    return { start: this.#startMb, peak: largest(({ peak }) => peak), end: largest(({ now }) => now) };
  }

  async #books(acknowledged) {
    const reader = this.nodes.findLast((node) => node.isRunning);
    this.#api.use(reader);
    const [events, ...deliveries] = await Promise.all([
      collect(this.#api.events(), ({ id, subject }) => ({ id, subject })),
      ...this.#doors.map((door) => collect(this.#api.deliveries(door.id), summaryOf)),
    ]);
    const reports = await this.receivers.report();
    const doors = this.#doors.map(({ path, id, passes }, index) => ({
      ...{ id, passes, ...reports.find((report) => report.path === path) },
      deliveries: deliveries[index],
    }));
    for (const door of doors) await this.#markLate(door, events);
    return balance({ acknowledged, events, doors, faults: this.faults });
  }

  /**
   * Marks the duplicates whose first attempt timed out, as the API shows it: on a busy machine, a response can come after
   * the time limit without any fault.
   */
  async #markLate({ id, again, deliveries }, events) {
    const retried = again.filter(({ attempt, firstAttempt }) => attempt !== firstAttempt).slice(0, lateMax);
    for (const duplicate of retried) {
      const event = events.find(({ subject }) => subject.id === `RUN-${duplicate.seq}`);
      const delivery = deliveries.find(({ event_id }) => event_id === event?.id);
      if (!delivery) continue;
      const attempts = await this.#api.attempts(id, delivery.id);
      duplicate.isLate = attempts[duplicate.firstAttempt - 1]?.error === 'timeout';
    }
  }

  async close() {
    await this.#api?.close();
    for (const node of this.nodes) await node.kill();
    this.receivers?.stop();
    await this.proxy?.close();
    await this.cluster?.kill();
    for (const close of this.#closing.reverse()) await close();
    this.#place.remove();
  }
}

const summaryOf = ({ id, event_id, status, final }) => ({ id, event_id, status, final });

async function collect(pages, read) {
  const all = [];
  for await (const one of pages) all.push(read(one));
  return all;
}
