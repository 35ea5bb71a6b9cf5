import { describe, expect, test } from 'vitest';
import {
  createInputChecker,
  creationSchema,
  type Lifecycle,
  lifecycles,
  moveSchema,
} from '../../server/src/resources/resource-schema.js';
import { documentedTypes } from '../../server/test/support/catalogue.js';
import { Company, type Routine, routines, type Step } from '../src/company.js';
import { between, type Random, seededRandom } from '../src/random.js';

const lifecycleOf = ({ resources }: Step): Lifecycle => (lifecycles as Record<string, Lifecycle>)[resources]!;

/** A platform that does what the table of lifecycles allows, at once. */
class Platform {
  readonly statuses = new Map<string, string>();
  readonly events: string[] = [];
  #created = 0;

  /** Undefined for a move that the status does not allow. */
  do(step: Step): { id: string; status: string } | undefined {
    const { creation, moves, prefix } = lifecycleOf(step);
    const id = step.move?.id ?? `${prefix}-${++this.#created}`;
    const move = step.move && moves[step.move.name];
    const status = move ? move.transitions[this.statuses.get(id) ?? ''] : creation.to;
    if (status === undefined) return undefined;
    this.statuses.set(id, status);
    const event = move ? move.event : creation.event;
    if (event) this.events.push(event);
    return { id, status };
  }
}

/** Lets a company do `count` things, several at once, that end in any order. Returns them in the order they began. */
function work(seed: number, count: number, atOnce: number, platform = new Platform()): Step[] {
  const company = new Company('ORG-demo', seededRandom(seed));
  const order: Random = seededRandom(seed + 1);
  const steps: Step[] = [];
  const underWay: Step[] = [];
  while (steps.length < count) {
    while (underWay.length < atOnce) {
      const step = company.next();
      steps.push(step);
      underWay.push(step);
    }
    const [step] = underWay.splice(between(order, 0, underWay.length - 1), 1);
    const resource = platform.do(step!);
    if (!resource) throw new Error(`The platform refuses ${JSON.stringify(step)}.`);
    company.done(step!, resource);
  }
  return steps;
}

describe('the routines', () => {
  test('cover all moves that the platform allows, with the actors it expects', () => {
    const actorsOf = (event: string | undefined) =>
      [...(documentedTypes.find(({ type }) => type === event)?.actors ?? ['user'])].sort();
    const ofPlatform = Object.entries(lifecycles as Record<string, Lifecycle>).map(([name, lifecycle]) => [
      name,
      actorsOf(lifecycle.creation.event),
      Object.entries(lifecycle.moves).map(([move, { transitions, event }]) => [
        move,
        Object.keys(transitions),
        actorsOf(event),
      ]),
    ]);
    const ofCompany = Object.entries<Routine>(routines).map(([name, { by: creators, moves }]) => [
      name,
      [...creators].sort(),
      Object.entries(moves).map(([move, { from, by }]) => [move, [...from], [...by].sort()]),
    ]);
    expect(ofCompany.sort()).toEqual(ofPlatform.sort());
  });
});

describe('the company', () => {
  test.each([1, 2, 3])('only makes moves that the status of the resource allows (seed %i)', (seed) => {
    const platform = new Platform();
    work(seed, 5_000, 64, platform);
    expect(platform.events.length).toBeGreaterThan(3_000);
  });

  test('eventually records every event type of the platform', () => {
    const platform = new Platform();
    work(7, 3_000, 8, platform);
    const expected = documentedTypes.map(({ type }) => type).filter((type) => !type.startsWith('webhook.'));
    expect(expected).toHaveLength(28);
    expect([...new Set(platform.events)].sort()).toEqual(expected.sort());
  });

  test('repeats itself with the same seed, and differs with another', () => {
    expect(work(11, 500, 4)).toEqual(work(11, 500, 4));
    expect(work(12, 500, 4)).not.toEqual(work(11, 500, 4));
  });

  test('never sends input that the platform refuses', () => {
    const checkers = new Map<string, ReturnType<typeof createInputChecker>>();
    const faults = work(5, 4_000, 8).flatMap((step) => {
      const lifecycle = lifecycleOf(step);
      const name = `${step.resources}/${step.move?.name ?? ''}`;
      const schema = step.move
        ? moveSchema(lifecycle, lifecycle.moves[step.move.name]!)
        : creationSchema(lifecycle);
      if (!checkers.has(name)) checkers.set(name, createInputChecker(schema));
      return checkers.get(name)!(step.body).map((fault) => ({ name, ...fault }));
    });
    expect(faults).toEqual([]);
  });

  test('refers only to service lines that it has', () => {
    const platform = new Platform();
    const named = work(9, 2_000, 8, platform).flatMap(({ body }) => body.service_line_id ?? []);
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((id) => !platform.statuses.has(String(id)))).toEqual([]);
  });

  test('never has two actions in progress for one resource', () => {
    const company = new Company('ORG-demo', seededRandom(3));
    const platform = new Platform();
    for (let done = 0; done < 500; done++) {
      const step = company.next();
      company.done(step, platform.do(step)!);
    }
    const moved = Array.from({ length: 64 }, () => company.next().move?.id).filter((id) => id !== undefined);
    expect(moved.length).toBeGreaterThan(10);
    expect(new Set(moved).size).toBe(moved.length);
  });

  test('stops using a resource after a refused move, and creates another if a creation was refused', () => {
    const company = new Company('ORG-demo', seededRandom(4));
    const platform = new Platform();
    const refused = new Set<string>();
    for (let tried = 0; tried < 2_000; tried++) {
      const step = company.next();
      if (step.move) expect(refused.has(step.move.id)).toBe(false);
      if (tried % 5 === 4) {
        company.refused(step);
        if (step.move) refused.add(step.move.id);
      } else company.done(step, platform.do(step)!);
    }
    expect(refused.size).toBeGreaterThan(100);
  });

  test('keeps the number of resources bounded, however long it works', () => {
    const platform = new Platform();
    const live = () =>
      [...platform.statuses].filter(([id, status]) => {
        const lifecycle = Object.values(lifecycles).find(({ prefix }) =>
          id.startsWith(`${prefix}-`),
        ) as Lifecycle;
        return Object.values(lifecycle.moves).some(({ transitions }) => transitions[status] !== undefined);
      }).length;
    work(6, 20_000, 8, platform);
    expect(live()).toBeLessThan(250);
  });
});
