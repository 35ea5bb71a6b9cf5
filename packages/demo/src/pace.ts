export const perSecondMin = 0.1;
export const perSecondMax = 500;

export const rateAccepts = `${perSecondMin} to ${perSecondMax} events per second, such as 20/s or 600/m`;

const secondsIn = { s: 1, m: 60 } as const;

/** Returns the events per second of `20/s` or `600/m`, or undefined. */
export function parseRate(text: string): number | undefined {
  const match = /^(\d{1,6}(?:\.\d{1,3})?)\/(s|m)$/.exec(text);
  if (!match) return undefined;
  const perSecond = Number(match[1]) / secondsIn[match[2] as keyof typeof secondsIn];
  return perSecond >= perSecondMin && perSecond <= perSecondMax ? perSecond : undefined;
}

/** Work that could not start because there was no room is made up for later, up to this limit. */
const owedMsMax = 1_000;
const lookMs = 10;

/**
 * Calculates how much work is due. The next call makes up for a late timer, so that the pace is right on average. On a
 * machine that is too slow, no backlog builds up.
 */
export class Pace {
  perSecond: number;
  #owed = 1;
  #lookedAtMs: number;

  constructor(perSecond: number, nowMs: number) {
    this.perSecond = perSecond;
    this.#lookedAtMs = nowMs;
  }

  /** Returns how many tasks to start now, at most `room`. They count as started. */
  take(nowMs: number, room: number): number {
    const grown = this.#owed + ((nowMs - this.#lookedAtMs) * this.perSecond) / 1000;
    const owed = Math.min(grown, 1 + (this.perSecond * owedMsMax) / 1000);
    const taken = Math.max(0, Math.min(Math.floor(owed), room));
    this.#owed = owed - taken;
    this.#lookedAtMs = nowMs;
    return taken;
  }
}

interface PacerOptions {
  perSecond: number;
  inFlightMax: number;
  /** Runs one task. It handles its own errors. */
  work: () => Promise<void>;
}

/** Starts tasks at a pace, with a limit on how many run at once. */
export class Pacer {
  readonly pace: Pace;
  readonly #options: PacerOptions;
  readonly #underWay = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PacerOptions) {
    this.#options = options;
    this.pace = new Pace(options.perSecond, performance.now());
    this.#look();
  }

  /** Starts no more tasks. Resolves when those in progress have ended. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await Promise.all(this.#underWay);
  }

  #look(): void {
    const { inFlightMax, work } = this.#options;
    const count = this.pace.take(performance.now(), inFlightMax - this.#underWay.size);
    for (let started = 0; started < count; started++) {
      const piece = work().finally(() => this.#underWay.delete(piece));
      this.#underWay.add(piece);
    }
    this.#timer = setTimeout(() => this.#look(), lookMs);
  }
}
