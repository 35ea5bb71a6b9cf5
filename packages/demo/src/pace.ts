/** Work that fell due while there was no room is made up for, but not more than this. */
const owedMsMax = 1_000;
const waitMsMin = 5;
const waitMsMax = 250;

/**
 * How much work is due by the clock. What a timer is late by is made up for at the next look, so that the
 * pace holds over time; a machine that cannot keep it is not buried under what it did not manage.
 */
export class Pace {
  #perSecond: number;
  #owed = 1;
  #lookedAtMs: number;

  constructor(perSecond: number, nowMs: number) {
    this.#perSecond = perSecond;
    this.#lookedAtMs = nowMs;
  }

  get perSecond(): number {
    return this.#perSecond;
  }

  change(perSecond: number): void {
    this.#perSecond = perSecond;
  }

  /** How many pieces to start now, `room` at most; they count as started. */
  take(nowMs: number, room: number): number {
    const grown = this.#owed + ((nowMs - this.#lookedAtMs) * this.#perSecond) / 1000;
    const owed = Math.min(grown, 1 + (this.#perSecond * owedMsMax) / 1000);
    const taken = Math.max(0, Math.min(Math.floor(owed), room));
    this.#owed = owed - taken;
    this.#lookedAtMs = nowMs;
    return taken;
  }

  /** How long to wait before the next look. */
  get waitMs(): number {
    const untilDueMs = ((1 - this.#owed) / this.#perSecond) * 1000;
    return Math.min(waitMsMax, Math.max(waitMsMin, untilDueMs));
  }
}

export interface PacerOptions {
  perSecond: number;
  inFlightMax: number;
  /** One piece of work. It tells of its own failures. */
  work: () => Promise<void>;
  now: () => number;
}

/** Starts pieces of work at a pace, a bounded number of them at once. */
export class Pacer {
  readonly pace: Pace;
  readonly #options: PacerOptions;
  readonly #underWay = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PacerOptions) {
    this.#options = options;
    this.pace = new Pace(options.perSecond, options.now());
    this.#look();
  }

  /** Starts nothing further; resolves when what is under way is over. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await Promise.all(this.#underWay);
  }

  #look(): void {
    const { inFlightMax, work, now } = this.#options;
    const count = this.pace.take(now(), inFlightMax - this.#underWay.size);
    for (let started = 0; started < count; started++) {
      const piece = work().finally(() => this.#underWay.delete(piece));
      this.#underWay.add(piece);
    }
    this.#timer = setTimeout(() => this.#look(), this.pace.waitMs);
  }
}
