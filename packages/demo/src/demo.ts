import { randomBytes } from 'node:crypto';
import { once, setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { type ChangedResource, Platform, Posthorn } from '@posthorn/client';
import { Company, type Step } from './company.js';
import type { ConsoleAddress, Situation } from './dashboard.js';
import { showEvents } from './event-tail.js';
import { Figures } from './figures.js';
import { Pacer, perSecondMax, perSecondMin } from './pace.js';
import { seededRandom } from './random.js';
import { behaviors, openReceiver, type Receiver } from './receivers.js';
import { type Summary, summarize } from './summary.js';
import type { RunningDemo } from './view.js';
import { createWebhooks, deliveriesInMemory, type Webhooks } from './webhooks.js';

/** The service that the demo runs against, over HTTP. */
export interface DemoService {
  publicUrl: string;
  platformUrl: string;
  /** May read events and manage webhooks of the organization. */
  accessToken: string;
  platformToken: string;
  /** How many attempts it makes before it gives up. */
  attemptsMax: number;
  /** Shown on the dashboard. */
  console: ConsoleAddress;
}

export interface DemoOptions {
  service: DemoService;
  organizationId: string;
  perSecond: number;
  /** How long the company works after its first event. If undefined, until `stop`. */
  forMs: number | undefined;
  seed: number;
  stop: AbortSignal;
  /** Called when the company starts to work. */
  onStart: (running: RunningDemo) => void;
}

const inFlightMax = 64;
const afterTroubleMs = 1_000;
/** If the service records nothing for this long, the demo ends anyway. */
const firstEventMsMax = 30_000;
const settleMsMax = 10_000;
const catchUpMsMax = 10_000;
const lookMs = 50;

/** Runs a company and its receivers against the service until it is told to stop. */
export async function runDemo(options: DemoOptions): Promise<Summary> {
  const demo = new Demo(options);
  return demo.run().finally(() => demo.close());
}

class Demo {
  readonly #options: DemoOptions;
  readonly #closers: (() => Promise<unknown>)[] = [];
  readonly #figures = new Figures(behaviors);
  #phase: Situation['phase'] = 'running';
  #perSecond: number;

  constructor(options: DemoOptions) {
    this.#options = options;
    this.#perSecond = options.perSecond;
  }

  async close(): Promise<void> {
    for (const close of this.#closers.reverse()) await close();
  }

  async run(): Promise<Summary> {
    const { service, organizationId } = this.#options;
    const posthorn = new Posthorn({ url: service.publicUrl, token: service.accessToken });
    const platform = new Platform({ url: service.platformUrl, token: service.platformToken });
    const receivers = await this.#openReceivers();
    const tail = await showEvents(posthorn, organizationId, this.#figures);
    this.#closers.push(() => tail.close());
    const webhooks = await createWebhooks(posthorn, organizationId, receivers, this.#figures);
    this.#closers.push(() => webhooks.stopWatching());

    const endedMs = await this.#work(platform);
    await webhooks.stopWatching();
    const givenUp = await this.#settle(platform, webhooks);
    await until(catchUpMsMax, tail.isUpToDate);
    return summarize(this.#figures, {
      endedMs,
      givenUp,
      wantedPerSecond: this.#perSecond,
      webhookIdOf: (receiver) => webhooks.ids.get(receiver),
    });
  }

  async #openReceivers(): Promise<readonly Receiver[]> {
    const receivers: Receiver[] = [];
    for (const [index, behavior] of behaviors.entries()) {
      const receiver = await openReceiver({
        behavior,
        attemptsMax: this.#options.service.attemptsMax,
        secret: `whsec_${randomBytes(32).toString('base64')}`,
        random: seededRandom(this.#options.seed + index + 1),
        now: Date.now,
        figures: this.#figures,
      });
      receivers.push(receiver);
      this.#closers.push(() => receiver.close());
    }
    return receivers;
  }

  /** Lets the company work until the time is up or it is stopped. Returns the time of the end. */
  async #work(platform: Platform): Promise<number> {
    const { organizationId, seed, forMs, stop, onStart } = this.#options;
    const company = new Company(organizationId, seededRandom(seed));
    const over = new AbortController();
    const ended = AbortSignal.any([stop, over.signal]);
    // Every action that fails adds a listener.
    setMaxListeners(0, ended);
    const endIn = (ms: number) => setTimeout(() => over.abort(), ms);
    let timer = forMs === undefined ? undefined : endIn(firstEventMsMax + forMs);
    let isCounting = false;
    this.#figures.startedMs = Date.now();
    const pacer = new Pacer({
      perSecond: this.#perSecond,
      inFlightMax,
      work: async () => {
        await this.#act(company, platform, ended);
        if (isCounting || forMs === undefined || this.#figures.recorded === 0) return;
        isCounting = true;
        clearTimeout(timer);
        timer = endIn(forMs);
      },
    });
    onStart({
      figures: this.#figures,
      situation: () => this.#situation(),
      changePace: (factor) => {
        this.#perSecond = Math.min(perSecondMax, Math.max(perSecondMin, this.#perSecond * factor));
        pacer.pace.perSecond = this.#perSecond;
      },
    });
    if (!ended.aborted) await once(ended, 'abort');
    this.#phase = 'stopping';
    clearTimeout(timer);
    await pacer.stop();
    return Date.now();
  }

  /** Causes one event. If a step records none, it continues with another, so that the pace counts events. */
  async #act(company: Company, platform: Platform, ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      const step = company.next();
      try {
        const { resource, event } = await take(platform, step);
        company.done(step, resource);
        if (!event) continue;
        this.#figures.eventRecorded(event.id, Date.now());
      } catch (error) {
        company.refused(step);
        this.#figures.troubled((error as Error).message);
        await delay(afterTroubleMs, undefined, { signal: ended }).catch(() => undefined);
      }
      return;
    }
  }

  /**
   * Waits for deliveries in progress, pauses the webhooks, so that what still waits can be counted, and disables them,
   * which ends what waits. Returns how many deliveries were ended this way, by receiver.
   */
  async #settle(platform: Platform, webhooks: Webhooks): Promise<ReadonlyMap<string, number>> {
    const rest = () => until(settleMsMax, async () => (await deliveriesInMemory(platform)) === 0);
    await rest();
    const troubled = (error: Error) => this.#figures.troubled(error.message);
    await webhooks.changeAll('paused').catch(troubled);
    await rest();
    await webhooks.look().catch(troubled);
    const waiting = new Map(this.#figures.receivers.map(({ name, pending }) => [name, pending]));
    // An attempt that was in progress may leave its delivery waiting. Disabling again ends it.
    await until(settleMsMax, async () => {
      await webhooks.changeAll('disabled');
      await webhooks.look();
      return this.#figures.total.pending === 0;
    });
    return waiting;
  }

  #situation(): Situation {
    const { service, organizationId } = this.#options;
    return {
      nowMs: Date.now(),
      phase: this.#phase,
      wantedPerSecond: this.#perSecond,
      publicUrl: service.publicUrl,
      organizationId,
      console: service.console,
    };
  }
}

function take(platform: Platform, step: Step): Promise<ChangedResource> {
  return step.move
    ? platform.resources.move(step.resources, step.move.id, step.move.name, step.body)
    : platform.resources.create(step.resources, step.body);
}

/** Polls until the condition holds or the time is up. An error counts as false. */
async function until(msMax: number, isSo: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + msMax;
  while (!(await isSo().catch(() => false)) && performance.now() < deadlineMs) await delay(lookMs);
}
