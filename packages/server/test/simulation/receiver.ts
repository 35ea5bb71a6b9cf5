import type { Outcome } from '../../src/outcomes/outcome.js';
import type { Random } from './random.js';

/** How a simulated receiver behaves, apart from its outages. */
export const manners = ['good', 'slow', 'hanging', 'failing', 'flaky', 'busy'] as const;
type Manner = (typeof manners)[number];

export const timeoutMs = 10_000;

/** A receiver that responds after some time in one of a few manners, and is out of order for a while. */
export class SimulatedReceiver {
  readonly manner: Manner;
  readonly #outage: { fromMs: number; toMs: number };
  readonly #random: Random;

  constructor(manner: Manner, outage: { fromMs: number; toMs: number }, random: Random) {
    this.manner = manner;
    this.#outage = outage;
    this.#random = random;
  }

  respond(nowMs: number): Outcome {
    const isOut = nowMs >= this.#outage.fromMs && nowMs < this.#outage.toMs;
    const quick = this.#random.between(1, 40);
    if (isOut) return noResponse('connect', quick);
    switch (this.manner) {
      case 'good':
        return responded(200, quick);
      case 'slow':
        return responded(200, this.#random.between(800, 3_000));
      case 'hanging':
        return noResponse('timeout', timeoutMs);
      case 'failing':
        return responded(500, quick);
      case 'flaky':
        return this.#random.next() < 0.4 ? responded(500, quick) : responded(204, quick);
      case 'busy':
        return this.#random.next() < 0.3
          ? responded(429, quick, this.#random.between(1, 600) * 1_000)
          : responded(200, quick);
    }
  }
}

function responded(httpStatus: number, durationMs: number, retryAfterMs?: number): Outcome {
  return { kind: 'response', httpStatus, durationMs, response: null, headers: {}, retryAfterMs };
}

function noResponse(error: 'connect' | 'timeout', durationMs: number): Outcome {
  return { kind: 'no_response', error, durationMs };
}
