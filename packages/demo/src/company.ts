import type { Move, NewResource } from '@posthorn/client';
import { pick, type Random } from './random.js';
import { movesFrom, type ResourcesName, type Routine, routineOf, routines } from './routines.js';
import { type ActionContext, attributes, details } from './vocabulary.js';

/** One action of the company: create a resource, or move an existing one. */
export type Step =
  | { resources: ResourcesName; move: undefined; body: NewResource }
  | { resources: ResourcesName; move: { id: string; name: string }; body: Move };

interface Held {
  id: string;
  status: string;
  /** Whether an action on it is in progress, so that its status may change soon. */
  isBusy: boolean;
}

const names = Object.keys(routines) as ResourcesName[];

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
  readonly #held = new Map<ResourcesName, Map<string, Held>>(names.map((name) => [name, new Map()]));
  readonly #beingCreated = new Map<ResourcesName, number>(names.map((name) => [name, 0]));

  constructor(organizationId: string, random: Random) {
    this.#organizationId = organizationId;
    this.#random = random;
  }

  /** Returns the next action. Until it is reported as done or refused, no other action uses that resource. */
  next(): Step {
    // Almost every resource refers to a service line.
    if (!this.#any('service-lines')) return this.#create('service-lines');
    for (const resources of this.#inRandomOrder()) {
      const idle = this.#idle(resources);
      const isShort = this.#count(resources) < routineOf(resources).wanted;
      if (isShort && (idle.length === 0 || this.#random() < creationProbability))
        return this.#create(resources);
      const [first, ...others] = idle;
      if (first) return this.#move(resources, pick(this.#random, [first, ...others]));
    }
    return this.#create('tasks');
  }

  /** Notes that the platform performed the action, and the resulting status. */
  done({ resources, move }: Step, resource: { id: string; status: string }): void {
    if (!move) this.#countCreated(resources);
    const { id, status } = resource;
    if (movesFrom(resources, status).length === 0) this.#of(resources).delete(id);
    else this.#of(resources).set(id, { id, status, isBusy: false });
  }

  /**
   * Notes that the platform refused the action or did not respond. The status is unknown, so the resource is not used
   * again.
   */
  refused({ resources, move }: Step): void {
    if (move) this.#of(resources).delete(move.id);
    else this.#countCreated(resources);
  }

  #create(resources: ResourcesName): Step {
    this.#beingCreated.set(resources, (this.#beingCreated.get(resources) ?? 0) + 1);
    const { createdBy, isOrganizationWide } = routineOf(resources);
    const workspace = isOrganizationWide ? null : pick(this.#random, workspaces);
    const body = {
      organization_id: this.#organizationId,
      ...(workspace !== null && { workspace_id: workspace }),
      actor: this.#actor(createdBy),
      ...attributes[resources](this.#context()),
    };
    return { resources, move: undefined, body };
  }

  #move(resources: ResourcesName, held: Held): Step {
    held.isBusy = true;
    const name = this.#chooseMove(resources, held.status);
    const body = {
      actor: this.#actor(routineOf(resources).moves[name]?.by ?? []),
      ...details[`${resources}/${name}`]?.(this.#context()),
    };
    return { resources, move: { id: held.id, name }, body };
  }

  #chooseMove(resources: ResourcesName, status: string): string {
    return weighted(this.#random, movesFrom(resources, status)).name;
  }

  #actor(types: Routine['createdBy']): { type: string; id: string } {
    const [first = 'user', ...others] = types;
    const type = pick(this.#random, [first, ...others]);
    if (type === 'agent') return { type, id: this.#any('agents') ?? firstAgent };
    return type === 'system' ? { type, id: 'platform' } : { type, id: pick(this.#random, people) };
  }

  #context(): ActionContext {
    return {
      random: this.#random,
      serviceLineId: this.#any('service-lines') ?? '',
      agentId: this.#any('agents') ?? firstAgent,
      userId: pick(this.#random, people),
    };
  }

  /** Returns the kinds of resources in random order, weighted by their share of the work. */
  *#inRandomOrder(): Generator<ResourcesName> {
    const left = names.map((name) => ({ name, weight: routineOf(name).share }));
    while (left.length > 0) {
      const chosen = weighted(this.#random, left);
      left.splice(left.indexOf(chosen), 1);
      yield chosen.name;
    }
  }

  #any(resources: ResourcesName): string | undefined {
    const [first, ...others] = this.#of(resources).keys();
    return first === undefined ? undefined : pick(this.#random, [first, ...others]);
  }

  #idle(resources: ResourcesName): Held[] {
    return [...this.#of(resources).values()].filter(({ isBusy }) => !isBusy);
  }

  #count(resources: ResourcesName): number {
    return this.#of(resources).size + (this.#beingCreated.get(resources) ?? 0);
  }

  #countCreated(resources: ResourcesName): void {
    this.#beingCreated.set(resources, (this.#beingCreated.get(resources) ?? 1) - 1);
  }

  #of(resources: ResourcesName): Map<string, Held> {
    const held = this.#held.get(resources);
    if (!held) throw new Error(`The company has no ${resources}.`);
    return held;
  }
}

function weighted<T extends { weight: number }>(random: Random, choices: readonly T[]): T {
  let left = random() * choices.reduce((sum, { weight }) => sum + weight, 0);
  for (const choice of choices) {
    left -= choice.weight;
    if (left < 0) return choice;
  }
  const last = choices.at(-1);
  if (!last) throw new Error('There is nothing to choose from.');
  return last;
}
