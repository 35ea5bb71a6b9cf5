import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Figures } from './messages.js';

interface MeasuredProcess {
  readFigures: () => Promise<boolean>;
  figures: Figures;
}

/** Combines the metrics of all processes on this machine, because an operator watches the machine as a whole. */
export class MachineMetrics {
  readonly #registry = new Registry();
  readonly crashes = new Counter({
    name: 'posthorn_process_crashes_total',
    help: 'Processes of this node that ended unexpectedly and were started again',
    registers: [this.#registry],
  });
  readonly #responding = new Gauge({
    name: 'posthorn_processes',
    help: 'Processes of this node that responded to this scrape',
    registers: [this.#registry],
  });
  /** The totals of processes that have ended. Without them, a total would fall, which Prometheus takes for a reset. */
  #past: Figures = [];

  constructor() {
    collectDefaultMetrics({ register: this.#registry });
  }

  /** Returns the metrics of the supervisor and of the processes that are alive, and the totals of those that ended. */
  async collect(alive: () => readonly MeasuredProcess[]): Promise<string> {
    const asked = alive();
    const responses = await Promise.all(asked.map((member) => member.readFigures()));
    const responded = new Set(asked.filter((_, index) => responses[index]));
    this.#responding.set(responded.size);
    const own = (await this.#registry.getMetricsAsJSON()) as Figures;
    // Nothing is awaited from here on. A process that ended in between would be counted twice, or not at all.
    const current = alive().map((member) =>
      responded.has(member) ? member.figures : totalsOf(member.figures),
    );
    return AggregatorRegistry.aggregate([...current, this.#past, own].map(withAggregators)).metrics();
  }

  /** Keeps the totals of a process that has ended. */
  keep({ figures }: Pick<MeasuredProcess, 'figures'>): void {
    const sum = AggregatorRegistry.aggregate([this.#past, totalsOf(figures)]);
    this.#past = sum.getMetricsAsArray() as unknown as Figures;
  }
}

function totalsOf(figures: Figures): Figures {
  return figures.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));
}

/** Sets how to combine some metrics. The library's default, such as the average lag, would hide a stuck process. */
function withAggregators(figures: Figures): Figures {
  return figures.map((figure) => {
    if (figure.name.startsWith('nodejs_eventloop_lag')) return { ...figure, aggregator: 'max' };
    if (figure.name === 'process_start_time_seconds') return { ...figure, aggregator: 'min' };
    return figure;
  });
}
