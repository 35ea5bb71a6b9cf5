import { setTimeout as wait } from 'node:timers/promises';
import { Producer as Client } from '../packages/client/dist/index.js';
import { platformToken } from './node.js';
import { organization } from './producer.js';

const giveUpMs = 120_000;

/** Records events at a steady pace with the client, which follows the organization to its cell. */
export class CellProducer {
  #client;
  #perSecond;
  #running;
  #sent = [];
  #stopped = false;
  acknowledged = [];
  statuses = new Map();
  dishonest = [];
  slowestMs = 0;

  /** `cells` has the URL of each cell's platform listener. */
  constructor(url, cells, perSecond) {
    this.#client = new Client({ url, cells, token: platformToken, giveUpMs });
    this.#perSecond = perSecond;
  }

  get offered() {
    return this.#sent.length;
  }

  get acknowledgedCount() {
    return this.acknowledged.filter((id) => id !== undefined).length;
  }

  start() {
    this.#running = this.#pace();
  }

  async #pace() {
    const startedMs = performance.now();
    while (!this.#stopped) {
      const due = ((performance.now() - startedMs) * this.#perSecond) / 1_000;
      while (this.#sent.length < due) this.#sent.push(this.#send(this.#sent.length));
      await wait(5);
    }
  }

  async #send(number) {
    const startedMs = performance.now();
    try {
      const { id } = await this.#client.send({
        ...{ type: 'agent.run.completed', organization_id: organization },
        actor: { type: 'agent', id: `AGT-${number % 11}` },
        subject: { type: 'run', id: `RUN-${number}` },
        payload: { service_line_id: 'LIN-1', duration_ms: number, tokens_used: 1, outcome: 'success' },
      });
      this.acknowledged[number] = id;
      this.#count(201);
    } catch (error) {
      if (this.dishonest.length < 20) this.dishonest.push(`the client gave up: ${error.message}`);
      this.#count(error.status ?? error.message);
    }
    this.slowestMs = Math.max(this.slowestMs, performance.now() - startedMs);
  }

  #count(status) {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }

  /** Offers nothing more, and waits until every event has been acknowledged or given up. */
  async stop() {
    this.#stopped = true;
    await this.#running;
    await Promise.all(this.#sent);
    await this.#client.close();
  }
}
