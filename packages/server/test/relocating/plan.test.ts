import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { relocationStates } from '../../src/cells/relocation-store.js';
import {
  type Facts,
  nextOfAbort,
  nextOfForget,
  nextOfMove,
  type Refusal,
  type Side,
  type Step,
} from '../../src/relocating/plan.js';

/** A cell of the model: its facts, and what it has of the organization. */
interface Cell {
  id: string;
  facts: Facts | undefined;
  rows: ReadonlySet<string>;
}

const sideOf = ({ id, facts, rows }: Cell): Side => ({
  organizationId: 'ORG-acme',
  id,
  name: id,
  facts,
  rows: facts === undefined || facts.state === 'here' ? rows.size : 0,
});
const isLive = ({ facts, rows }: Cell) => rows.size > 0 && (facts === undefined || facts.state === 'here');
const stepsMax = 30;
let moves = 0;
const newMove = () => {
  moves += 1;
  return `move ${moves}`;
};

/** Two cells with an organization in the first, and everything that they have ever been. */
class World {
  east: Cell = { id: 'east', facts: undefined, rows: new Set(['1']) };
  west: Cell = { id: 'west', facts: undefined, rows: new Set() };
  readonly history: { east: Cell[]; west: Cell[] } = { east: [], west: [] };

  set(name: 'east' | 'west', change: Partial<Facts> | undefined, rows = this[name].rows): void {
    this.history[name].push(this[name]);
    const blank: Facts = {
      state: 'here',
      cell: '',
      cell_id: null,
      move: '',
      since: new Date(0),
    };
    const facts = change && { ...(this[name].facts ?? blank), ...change };
    this[name] = { ...this[name], facts, rows };
  }

  /** One cell becomes what it was at an earlier time. */
  restore(name: 'east' | 'west', back: number): void {
    const past = this.history[name];
    const then = past[past.length - 1 - (back % Math.max(1, past.length))];
    if (then) this[name] = then;
  }

  record(name: 'east' | 'west'): void {
    if (isLive(this[name])) this.set(name, this[name].facts, new Set([...this[name].rows, newMove()]));
  }

  /** Takes one step as the command does. Returns false if there is nothing more to do. */
  take(next: Step | 'done' | Refusal): boolean {
    if (typeof next !== 'string' || next === 'done') return false;
    const { east, west } = this;
    const extra = (of: Cell, than: Cell) => [...of.rows].filter((row) => !than.rows.has(row)).length;
    switch (next) {
      case 'stop':
        if (west.facts?.state === 'forgotten') this.set('west', { cell: 'east', cell_id: 'east' });
        this.set('east', { state: 'stopping', cell: 'west', cell_id: 'west', move: newMove() });
        break;
      case 'drain':
        this.set('east', { state: 'stopped', move: newMove() });
        break;
      case 'copy':
        this.set(
          'west',
          { state: 'arriving', cell: 'east', cell_id: 'east', move: east.facts!.move },
          east.rows,
        );
        break;
      case 'leave':
        if (east.facts!.move !== west.facts!.move && extra(east, west) > 0) {
          if (west.facts!.state === 'here') return false;
          this.discard();
        } else this.set('east', { state: 'moved', cell: 'west', cell_id: 'west', move: west.facts!.move });
        break;
      case 'activate':
        expect(east.facts?.state).toBe('moved');
        this.set('west', { state: 'here' });
        break;
      case 'discard':
        this.discard();
        break;
      case 'resume':
        this.set('east', { state: 'here' });
        break;
    }
    return true;
  }

  discard(): void {
    const { east, west } = this;
    const isKept = [...west.rows].some((row) => !east.rows.has(row));
    this.set('west', { state: isKept ? 'moved' : 'forgotten' }, isKept ? west.rows : new Set());
  }

  next(goal: 'move' | 'abort'): Step | 'done' | Refusal {
    return (goal === 'move' ? nextOfMove : nextOfAbort)(sideOf(this.east), sideOf(this.west));
  }

  /** Runs a command to its end. */
  run(goal: 'move' | 'abort'): Step | 'done' | Refusal {
    for (let steps = 0; steps < stepsMax; steps += 1) {
      const next = this.next(goal);
      if (!this.take(next)) return next;
    }
    throw new Error(`no end: ${JSON.stringify([this.east.facts, this.west.facts])}`);
  }
}

const interruption = fc.oneof(
  fc.record({ kind: fc.constantFrom('move' as const, 'abort' as const) }),
  fc.record({
    kind: fc.constant('record' as const),
    cell: fc.constantFrom('east' as const, 'west' as const),
  }),
);
const restoration = fc.record({
  kind: fc.constant('restore' as const),
  cell: fc.constantFrom('east' as const, 'west' as const),
  back: fc.nat(12),
});

describe('the steps of a move, in any order, with any interruptions and other commands', () => {
  it('never let both cells serve the organization, and lose nothing that was recorded', () => {
    fc.assert(
      fc.property(fc.array(interruption, { maxLength: 40 }), (actions) => {
        const world = new World();
        for (const action of actions) {
          if (action.kind === 'record') world.record(action.cell);
          else world.take(world.next(action.kind));
          expect(isLive(world.east) && isLive(world.west)).toBe(false);
        }
        const recorded = new Set([...world.east.rows, ...world.west.rows]);
        expect(world.run('move')).toBe('done');
        expect([isLive(world.east), isLive(world.west)]).toEqual([false, true]);
        expect(world.west.rows).toEqual(recorded);
      }),
      { numRuns: 2_000 },
    );
  });

  it('can be undone until the new cell has taken over', () => {
    fc.assert(
      fc.property(fc.nat(8), (steps) => {
        const world = new World();
        for (let step = 0; step < steps; step += 1) world.take(world.next('move'));
        const hadTakenOver = isLive(world.west);
        world.run('abort');
        expect([isLive(world.east), isLive(world.west)]).toEqual([!hadTakenOver, hadTakenOver]);
      }),
    );
  });

  it('end in one cell after a restore of either, or are refused, and no step loses the last copy of anything', () => {
    fc.assert(
      fc.property(
        fc.array(interruption, { maxLength: 15 }),
        restoration,
        fc.array(interruption, { maxLength: 6 }),
        fc.constantFrom('move' as const, 'abort' as const),
        (before, { cell, back }, after, goal) => {
          const world = new World();
          const act = (action: (typeof before)[number]) => {
            const all = new Set([...world.east.rows, ...world.west.rows]);
            if (action.kind === 'record') world.record(action.cell);
            else world.take(world.next(action.kind));
            const left = new Set([...world.east.rows, ...world.west.rows]);
            expect([...all].filter((row) => !left.has(row))).toEqual([]);
          };
          before.forEach(act);
          world.restore(cell, back);
          after.forEach(act);
          const end = world.run(goal);
          const isRefused = typeof end !== 'string' || end === 'leave';
          if (!isRefused && goal === 'move')
            expect([isLive(world.east), isLive(world.west)]).toEqual([false, true]);
          if (!isRefused && goal === 'abort') expect(isLive(world.east)).toBe(true);
          // If nobody has recorded anything since the restore, running the move again always helps.
          if (goal === 'move' && after.every(({ kind }) => kind === 'move'))
            expect([end, typeof end === 'string' || end.refused]).toEqual(
              typeof end === 'string' ? ['done', true] : [end, expect.stringContaining('keeps an old copy')],
            );
          // A refusal is final only if a cell has recorded something that the other one does not know.
          const lacks = (a: Cell, b: Cell) => [...a.rows].some((row) => !b.rows.has(row));
          if (
            isRefused &&
            goal === 'move' &&
            typeof end !== 'string' &&
            !end.refused.includes('keeps an old copy')
          )
            expect([end.refused, lacks(world.west, world.east)]).toEqual([
              expect.stringContaining('did not come from'),
              true,
            ]);
        },
      ),
      { numRuns: 5_000 },
    );
  });

  it('are bound to the identity of both cells', () => {
    const facts = fc.record({
      state: fc.constantFrom(...relocationStates),
      cell: fc.constant('west'),
      cell_id: fc.constantFrom('east', 'west', 'namesake'),
      move: fc.constantFrom('a', 'b'),
      since: fc.constant(new Date(0)),
    });
    fc.assert(
      fc.property(facts, facts, fc.boolean(), fc.boolean(), (here, there, hereHasRows, thereHasRows) => {
        const from: Side = {
          id: 'east',
          name: 'east',
          organizationId: 'ORG-acme',
          facts: here,
          rows: hereHasRows ? 1 : 0,
        };
        const to: Side = {
          id: 'west',
          name: 'west',
          organizationId: 'ORG-acme',
          facts: there,
          rows: thereHasRows ? 1 : 0,
        };
        for (const next of [nextOfMove(from, to), nextOfAbort(from, to)])
          if (here.cell_id === 'namesake' && here.state !== 'here') expect(typeof next).not.toBe('string');
        const isCopyOfAnother = there.state === 'arriving' && there.cell_id !== 'east';
        if (isCopyOfAnother) expect(typeof nextOfMove(from, to)).not.toBe('string');
        if (nextOfMove(from, to) === 'activate')
          expect([here.state, there.state, here.move]).toEqual(['moved', 'arriving', there.move]);
        if (nextOfForget(from, to) === 'delete') expect([here.state, there.state]).toEqual(['moved', 'here']);
      }),
      { numRuns: 5_000 },
    );
  });
});
