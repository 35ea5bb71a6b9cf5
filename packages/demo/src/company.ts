import { pick, type Random } from './random.js';
import { movesFrom, type ResourcesName, type Routine, routineOf, routines } from './routines.js';
import { attributes, details, type Surroundings } from './vocabulary.js';

/** One thing the company does: it creates a resource, or moves one that it has. */
export interface Step {
  resources: ResourcesName;
  /** Undefined where a resource is created. */
  move: { id: string; name: string } | undefined;
  body: Record<string, unknown>;
}

interface Held {
  id: string;
  status: string;
  /** Somebody is at it, and its status may be another one soon. */
  isBusy: boolean;
}

const names = Object.keys(routines) as ResourcesName[];

/** How readily something new is begun while there are fewer than wanted. */
const beginning = 0.5;

const people = ['USR-ada', 'USR-grace', 'USR-linus', 'USR-mary'] as const;
const firstAgent = 'AGT-penny';
const workspaces = ['WS-berlin', 'WS-lisbon', 'WS-oslo'] as const;

/**
 * A company at work. It knows what it has and in which state, and decides what to do next; doing it, over
 * HTTP, is somebody else's. With the same random numbers and the same answers it does the same again.
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

  /** What to do next. Until it is reported as done or refused, nothing else is done to that resource. */
  next(): Step {
    // Almost everything is about a service line.
    if (!this.#any('service-lines')) return this.#create('service-lines');
    for (const resources of this.#inRandomOrder()) {
      const idle = this.#idle(resources);
      const isShort = this.#count(resources) < routineOf(resources).wanted;
      if (isShort && (idle.length === 0 || this.#random() < beginning)) return this.#create(resources);
      const [first, ...others] = idle;
      if (first) return this.#move(resources, pick(this.#random, [first, ...others]));
    }
    return this.#create('tasks');
  }

  /** The platform did it, and this is what it says of the resource now. */
  done({ resources, move }: Step, resource: { id: string; status: string }): void {
    if (!move) this.#countCreated(resources);
    const { id, status } = resource;
    if (movesFrom(resources, status).length === 0) this.#of(resources).delete(id);
    else this.#of(resources).set(id, { id, status, isBusy: false });
  }

  /** The platform did not do it, or did not say so. Nobody knows the resource's state, so it is left alone. */
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
      ...attributes[resources](this.#surroundings()),
    };
    return { resources, move: undefined, body };
  }

  #move(resources: ResourcesName, held: Held): Step {
    held.isBusy = true;
    const name = this.#chooseMove(resources, held.status);
    const body = {
      actor: this.#actor(routineOf(resources).moves[name]?.by ?? []),
      ...details[`${resources}/${name}`]?.(this.#surroundings()),
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

  #surroundings(): Surroundings {
    return {
      random: this.#random,
      serviceLineId: this.#any('service-lines') ?? '',
      agentId: this.#any('agents') ?? firstAgent,
      userId: pick(this.#random, people),
    };
  }

  /** Kinds of resources, each in a place that its share gives it a chance for. */
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
