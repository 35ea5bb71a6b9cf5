import { readFileSync } from 'node:fs';
import type { Move, NewResource } from '@posthorn/client';
import { between, pick, type Random } from './random.js';

type ActorType = 'user' | 'agent' | 'system';

/** What the company does with one kind of resource. */
export interface Routine {
  /** How much of the work is about these resources. */
  share: number;
  /** How many of them the company wants at once. */
  wanted: number;
  organizationWide?: true;
  /** Who creates them. */
  by: readonly ActorType[];
  fields: Fields;
  moves: Readonly<Record<string, MoveRoutine>>;
}

interface MoveRoutine {
  /** The statuses in which the company makes this move. */
  from: readonly string[];
  by: readonly ActorType[];
  /** How often it is made, relative to other moves from the same status. Default: 1. */
  weight?: number;
  fields?: Fields;
}

/**
 * The fields of a request. A list is a choice, `min` and `max` are the limits of a number, and a name in braces stands
 * for a number or for something that the company has.
 */
type Fields = Readonly<Record<string, unknown>>;

/**
 * What the company does, by the name of the resource in paths. The platform decides what is allowed; a test compares
 * this table with it.
 */
export const routines: Readonly<Record<string, Routine>> = JSON.parse(
  readFileSync(new URL('../company.json', import.meta.url), 'utf8'),
);

/** One action of the company: create a resource, or move an existing one. */
export type Step =
  | { resources: string; move: undefined; body: NewResource }
  | { resources: string; move: { id: string; name: string }; body: Move };

interface Held {
  id: string;
  status: string;
  /** Whether an action on it is in progress, so that its status may change soon. */
  isBusy: boolean;
}

/** What the company has of one kind, and does with it. */
interface Stock {
  routine: Routine;
  held: Map<string, Held>;
  beingCreated: number;
}

/** The probability that the company creates a resource while it has fewer than it wants. */
const creationProbability = 0.5;

const people = ['USR-ada', 'USR-grace', 'USR-linus', 'USR-mary'] as const;
const firstAgent = 'AGT-penny';
const workspaces = ['WS-berlin', 'WS-lisbon', 'WS-oslo'] as const;

/**
 * A simulated company. It knows its resources and their statuses and decides what to do next. The caller carries that
 * out, over HTTP. The same random numbers and responses lead to the same actions.
 */
export class Company {
  readonly #organizationId: string;
  readonly #random: Random;
  readonly #stocks = new Map(
    Object.entries(routines).map(([name, routine]): [string, Stock] => [
      name,
      { routine, held: new Map(), beingCreated: 0 },
    ]),
  );

  constructor(organizationId: string, random: Random) {
    this.#organizationId = organizationId;
    this.#random = random;
  }

  /** Returns the next action. Until it is reported as done or refused, no other action uses that resource. */
  next(): Step {
    // Almost every resource refers to a service line.
    if (!this.#any('service-lines')) return this.#create('service-lines');
    for (const resources of this.#inRandomOrder()) {
      const { routine, held, beingCreated } = this.#of(resources);
      const idle = [...held.values()].filter(({ isBusy }) => !isBusy);
      const isShort = held.size + beingCreated < routine.wanted;
      if (isShort && (idle.length === 0 || this.#random() < creationProbability))
        return this.#create(resources);
      if (idle.length > 0) return this.#move(resources, pick(this.#random, idle));
    }
    return this.#create('tasks');
  }

  /** Notes that the platform performed the action, and the resulting status. */
  done({ resources, move }: Step, { id, status }: { id: string; status: string }): void {
    const stock = this.#of(resources);
    if (!move) stock.beingCreated -= 1;
    if (movesFrom(stock.routine, status).length === 0) stock.held.delete(id);
    else stock.held.set(id, { id, status, isBusy: false });
  }

  /**
   * Notes that the platform refused the action or did not respond. The status is unknown, so the resource is not used
   * again.
   */
  refused({ resources, move }: Step): void {
    if (move) this.#of(resources).held.delete(move.id);
    else this.#of(resources).beingCreated -= 1;
  }

  #create(resources: string): Step {
    const stock = this.#of(resources);
    stock.beingCreated += 1;
    const { by, organizationWide, fields } = stock.routine;
    const body = {
      organization_id: this.#organizationId,
      ...(!organizationWide && { workspace_id: pick(this.#random, workspaces) }),
      actor: this.#actor(by),
      ...this.#filled(fields),
    };
    return { resources, move: undefined, body };
  }

  #move(resources: string, held: Held): Step {
    held.isBusy = true;
    const { name, by, fields } = weighted(this.#random, movesFrom(this.#of(resources).routine, held.status));
    const body = { actor: this.#actor(by), ...this.#filled(fields) };
    return { resources, move: { id: held.id, name }, body };
  }

  #actor(types: readonly ActorType[]): { type: string; id: string } {
    const type = pick(this.#random, types);
    return { type, id: type === 'system' ? 'platform' : this.#nameOf(type) };
  }

  #filled(fields: Fields = {}): Fields {
    return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, this.#valueOf(field)]));
  }

  #valueOf(field: unknown): unknown {
    const value: unknown = Array.isArray(field) ? pick(this.#random, field) : field;
    if (typeof value === 'string') return value.replace(/\{(\w+)\}/g, (_, name) => this.#nameOf(name));
    if (typeof value !== 'object' || value === null || !('min' in value)) return value;
    const { min, max } = value as { min: number; max: number };
    return between(this.#random, min, max);
  }

  /** Returns what a name in braces stands for. */
  #nameOf(name: string): string {
    if (name === 'number') return String(between(this.#random, 100_000, 999_999));
    if (name === 'user') return pick(this.#random, people);
    return name === 'agent' ? (this.#any('agents') ?? firstAgent) : (this.#any('service-lines') ?? '');
  }

  /** Returns the kinds of resources in random order, weighted by their share of the work. */
  *#inRandomOrder(): Generator<string> {
    const left = Object.entries(routines).map(([name, { share }]) => ({ name, weight: share }));
    while (left.length > 0) {
      const chosen = weighted(this.#random, left);
      left.splice(left.indexOf(chosen), 1);
      yield chosen.name;
    }
  }

  #any(resources: string): string | undefined {
    const ids = [...this.#of(resources).held.keys()];
    return ids.length === 0 ? undefined : pick(this.#random, ids);
  }

  #of(resources: string): Stock {
    const stock = this.#stocks.get(resources);
    if (!stock) throw new Error(`The company has no ${resources}.`);
    return stock;
  }
}

/** Returns the moves that the company makes with a resource of this status. */
function movesFrom({ moves }: Routine, status: string) {
  return Object.entries(moves)
    .filter(([, { from }]) => from.includes(status))
    .map(([name, move]) => ({ name, weight: 1, ...move }));
}

function weighted<T extends { weight: number }>(random: Random, choices: readonly T[]): T {
  let left = random() * choices.reduce((sum, { weight }) => sum + weight, 0);
  for (const choice of choices) {
    left -= choice.weight;
    if (left < 0) return choice;
  }
  return pick(random, choices);
}
