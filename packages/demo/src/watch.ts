import { setTimeout as delay } from 'node:timers/promises';
import type { Platform } from '@posthorn/client';
import type { Figures } from './figures.js';
import type { Webhooks } from './webhooks.js';

const pauseMs = 1_000;
/** Counting takes longer the longer the demo runs. It may take up to this share of the time. */
const shareMax = 0.1;

export interface WatchOptions {
  platform: Platform;
  webhooks: Webhooks;
  figures: Figures;
  onTrouble: (message: string) => void;
}

/** Asks the service for the state of the deliveries, about once per second. */
export class Watch {
  readonly #options: WatchOptions;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#ended = this.#repeat();
  }

  async look(): Promise<void> {
    const { webhooks, figures } = this.#options;
    for (const [name, count] of await webhooks.count()) figures.deliveriesCounted(name, count);
  }

  /** Returns how many deliveries are being sent or are queued in memory. */
  async inMemory(): Promise<number> {
    const metrics = await this.#options.platform.metrics();
    const values = metrics.matchAll(/^posthorn_deliveries_in_memory\{.*\} (\d+)$/gm);
    return [...values].reduce((sum, [, value]) => sum + Number(value), 0);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async #repeat(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const beganMs = performance.now();
      await this.look().catch((error: Error) => this.#options.onTrouble(error.message));
      const tookMs = performance.now() - beganMs;
      const waitMs = Math.max(pauseMs, tookMs / shareMax);
      await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }
}
