import type { Relocation } from '../cells/relocation-store.js';

/** The facts that a cell stores about the moves of an organization. */
export interface Facts extends Relocation {
  /** The identity of the other cell. */
  cell_id: string | null;
  /** Identifies the stop during which the organization moves or has moved. */
  move: string;
  /** When the state began. */
  since: Date;
}

/** What one cell shows of an organization at this moment. */
export interface Side {
  id: string;
  name: string;
  organizationId: string;
  /** Undefined if the organization has never moved to or from this cell. */
  facts: Facts | undefined;
  /** How many rows the cell has of the organization. 0 if the facts say that it does not live here. */
  rows: number;
}

/**
 * A step of a move from the old to the new cell, or of its abort.
 * stop:     the old cell refuses writes from now on
 * drain:    waits until nothing is written for the organization in the old cell anymore
 * copy:     copies everything in one transaction of the new cell
 * leave:    the old cell marks the organization as moved, if the new cell has everything
 * activate: the new cell takes over
 * discard:  the new cell can no longer take over, and deletes its copy
 * resume:   the old cell serves the organization again
 */
export type Step = 'stop' | 'drain' | 'copy' | 'leave' | 'activate' | 'discard' | 'resume';

/** Why there is no step. */
export interface Refusal {
  refused: string;
}

const isLive = ({ facts }: Side) => facts === undefined || facts.state === 'here';

/** Returns the next step of a move from one cell to another, from what both show now, or 'done'. */
export function nextOfMove(from: Side, to: Side): Step | 'done' | Refusal {
  const refusal = refusalOf(from, to);
  if (refusal) return refusal;
  const there = to.facts?.state;
  if (there === 'moved')
    return {
      refused: `The cell ${to.name} keeps an old copy of ${from.organizationId}. Delete it first: run posthorn organization forget ${from.organizationId} there.`,
    };
  if (there === undefined && to.rows > 0) return foreign(from, to);
  if (isLive(from)) return from.rows > 0 || there === 'arriving' ? 'stop' : noData(from);
  const { state, move } = from.facts!;
  if (state === 'stopping') return 'drain';
  if (there !== 'here' && there !== 'arriving') return 'copy';
  if (state !== 'moved' || move !== to.facts!.move) return 'leave';
  return there === 'here' ? 'done' : 'activate';
}

/** Returns the next step to abort a move, from what both cells show now, or 'done'. */
export function nextOfAbort(from: Side, to: Side): Step | 'done' | Refusal {
  const refusal = refusalOf(from, to);
  if (refusal) return refusal;
  const there = to.facts?.state;
  if (isLive(from) && there !== 'arriving') return 'done';
  if (isLive(from)) return from.rows > 0 ? 'discard' : noData(from);
  const { state } = from.facts!;
  if (there === 'here' && (state === 'moved' || to.facts!.cell_id === from.id))
    return {
      refused: `${from.organizationId} already works in the cell ${to.name}. Run the command again without --abort to complete the move.`,
    };
  if (state !== 'moved') return 'resume';
  if (there === undefined && to.rows > 0) return foreign(from, to);
  return there === 'arriving' ? 'discard' : 'resume';
}

/** Returns whether the old cell `from` may delete its copy, now that the organization should live in the cell `to`. */
export function nextOfForget(from: Side, to: Side): 'delete' | 'done' | Refusal {
  if (from.facts?.state === 'forgotten') return 'done';
  if (isLive(from) && from.rows === 0) return noData(from);
  if (from.facts?.state !== 'moved') return elsewhere(from);
  if (isLive(to) && to.rows > 0) return 'delete';
  return { refused: `${from.organizationId} does not work in the cell ${to.name}. Nothing was deleted.` };
}

/** Returns why the organization can neither move between these cells nor stay: a third database is involved. */
function refusalOf(from: Side, to: Side): Refusal | undefined {
  const [here, there] = [from.facts, to.facts];
  if (!isLive(from) && (here!.cell_id !== to.id || here!.state === 'forgotten' || here!.state === 'arriving'))
    return elsewhere(from);
  if (isLive(to)) return undefined;
  const isLeaving = there!.state === 'stopping' || there!.state === 'stopped';
  const isOfAnother = there!.cell_id !== from.id && (there!.state === 'arriving' || !isLive(from));
  return isLeaving || isOfAnother ? elsewhere(to) : undefined;
}

const noData = ({ name, organizationId }: Side): Refusal => ({
  refused: `The cell ${name} has no data for ${organizationId}.`,
});

function elsewhere({ organizationId, name, facts }: Side): Refusal {
  const { state, cell } = facts ?? { state: 'here', cell: name };
  return state === 'stopping' || state === 'stopped' || state === 'arriving'
    ? { refused: `${organizationId} is moving to or from a database of the cell ${cell}.` }
    : { refused: `${organizationId} is in cell ${state === 'here' ? name : cell}.` };
}

const foreign = (from: Side, to: Side): Refusal => ({
  refused: `The cell ${to.name} has ${to.rows.toLocaleString('en')} rows of an organization with the ID ${from.organizationId} that did not come from the cell ${from.name}. Nothing was deleted. See "Restored cells" in docs/operate.md.`,
});
