import type { Relocation } from '../cells/relocation.js';

/** The facts that a cell stores about the moves of an organization. */
export interface Facts extends Relocation {
  /** The identity of the other cell. */
  cell_id: string | null;
  /** Identifies the stop during which the organization moves or has moved. */
  move: string;
  /** The cell and the stop from which it came when it last moved here. */
  arrived_from: string | null;
  arrived_by: string | null;
}

/** What one cell shows of an organization at this moment. */
export interface Side {
  id: string;
  name: string;
  organizationId: string;
  /** Undefined if the organization has never moved to or from this cell. */
  facts: Facts | undefined;
  /** Whether the cell has any rows of the organization. */
  hasRows: boolean;
}

/**
 * A step of a move from the old to the new cell, or of its abort.
 * stop:      the old cell refuses writes from now on
 * drain:     waits until nothing is written for the organization in the old cell anymore
 * expect:    the new cell refuses the organization until its copy is there
 * copy:      copies everything in one transaction of the new cell
 * leave:     the old cell marks the organization as moved
 * activate:  the new cell takes over
 * reconcile: what the new cell has is not from this stop: discards it or continues with it, whichever loses nothing
 * discard:   the new cell can no longer take over, and deletes its copy
 * resume:    the old cell serves the organization again
 * done:      nothing is left to do
 */
export type Step =
  | 'stop'
  | 'drain'
  | 'expect'
  | 'copy'
  | 'leave'
  | 'activate'
  | 'reconcile'
  | 'discard'
  | 'resume'
  | 'done';

/** Why there is no step. With `isForeign`, the rows in the new cell are in the way. */
export interface Refusal {
  refused: string;
  isForeign?: boolean;
}

const isLive = ({ facts }: Side) => facts === undefined || facts.state === 'here';
const livesWithRows = (side: Side) => isLive(side) && side.hasRows;

/** Returns whether this stop brought the organization to the cell when it last came there. */
const arrivedBy = ({ facts }: Side, move: string) => facts?.arrived_by === move;

/** Returns whether the new cell has taken over the organization from the old one, by this stop or by any other. */
function hasTakenOver(from: Side, to: Side): boolean {
  return livesWithRows(to) && to.facts?.arrived_from === from.id;
}

/** Returns what the new cell's state alone refuses, whatever the state in the old cell is. */
function refusalThere(from: Side, to: Side): Refusal | undefined {
  const { facts } = to;
  if (!facts || facts.state === 'here') return undefined;
  const isFromHere = facts.cell_id === from.id;
  if (facts.state === 'stopping' || facts.state === 'stopped') return isMoving(to, facts.cell);
  if (facts.state === 'expected' || facts.state === 'arriving')
    return isFromHere ? undefined : isMoving(to, facts.cell);
  const hasMovedOn = !isFromHere && from.facts !== undefined && arrivedBy(to, from.facts.move);
  return hasMovedOn ? isIn(to, facts.cell) : undefined;
}

/** Returns the next step of a move from one cell to another, from what both show now. */
export function nextOfMove(from: Side, to: Side): Step | Refusal {
  const refusal = refusalThere(from, to);
  if (refusal) return refusal;
  const there = to.facts?.state ?? 'here';
  if (there === 'moved')
    return {
      refused: `The cell ${to.name} keeps an old copy of ${from.organizationId}. Delete it first: run posthorn organization forget ${from.organizationId} there.`,
    };
  const takenOver = hasTakenOver(from, to);
  if (isLive(from)) {
    if (!from.hasRows) return noData(from);
    // The old cell has been restored from a backup, or the copy is from an earlier move.
    if (there === 'arriving' || takenOver) return 'reconcile';
    return livesWithRows(to) ? foreign(from, to) : 'stop';
  }
  const { state, move } = from.facts!;
  const refusedHere = refusalHere(from, to);
  if (refusedHere) return refusedHere;
  if (state === 'stopping') return 'drain';
  if (takenOver) return arrivedBy(to, move) ? (state === 'moved' ? 'done' : 'leave') : 'reconcile';
  if (there === 'here') return to.hasRows ? foreign(from, to) : 'expect';
  const isOfThisStop = to.facts!.move === move;
  // An abort was interrupted.
  if (there === 'forgotten') return isOfThisStop ? 'resume' : 'expect';
  if (there === 'expected') return isOfThisStop ? 'copy' : 'expect';
  if (!isOfThisStop) return 'reconcile';
  return state === 'moved' ? 'activate' : 'leave';
}

/** Returns what the old cell's state refuses, if the organization does not live there. */
function refusalHere(from: Side, to: Side): Refusal | undefined {
  const { state, cell, cell_id } = from.facts!;
  if (state === 'forgotten' || (state === 'moved' && cell_id !== to.id)) return isIn(from, cell);
  return cell_id !== to.id || state === 'expected' || state === 'arriving' ? isMoving(from, cell) : undefined;
}

/** Returns the next step to abort a move, from what both cells show now. */
export function nextOfAbort(from: Side, to: Side): Step | Refusal {
  const there = to.facts?.state ?? 'here';
  const isComing = (there === 'expected' || there === 'arriving') && to.facts!.cell_id === from.id;
  if (isLive(from)) {
    if (isComing) return from.hasRows ? 'discard' : noData(from);
    return hasTakenOver(from, to)
      ? {
          refused: `${from.organizationId} already works in the cell ${to.name}. Run the command again without --abort to complete the move.`,
        }
      : 'done';
  }
  const { state, move } = from.facts!;
  const refusedHere = refusalHere(from, to);
  if (refusedHere) return refusedHere;
  if (hasTakenOver(from, to))
    return {
      refused: `${from.organizationId} already works in the cell ${to.name}. Run the command again without --abort to complete the move.`,
    };
  const refusal = refusalThere(from, to);
  if (refusal) return refusal;
  // Until the old cell shows the organization as moved, the new one cannot take it over.
  if (state !== 'moved') return 'resume';
  if (there === 'here' && to.hasRows) return foreign(from, to);
  const isFenced = (there === 'forgotten' || there === 'moved') && to.facts!.move === move;
  return isFenced ? 'resume' : 'discard';
}

/** Returns whether the old cell `from` may delete its copy, now that the organization should live in the cell `to`. */
export function nextOfForget(from: Side, to: Side): 'delete' | 'done' | Refusal {
  const { state = 'here', cell = '' } = from.facts ?? {};
  if (state === 'forgotten') return 'done';
  if (isLive(from)) return from.hasRows ? isIn(from, from.name) : noData(from);
  if (state !== 'moved') return isMoving(from, cell);
  return livesWithRows(to)
    ? 'delete'
    : { refused: `${from.organizationId} does not work in the cell ${to.name}. Nothing was deleted.` };
}

const noData = ({ name, organizationId }: Side): Refusal => ({
  refused: `The cell ${name} has no data for ${organizationId}.`,
});
const isIn = ({ organizationId }: Side, cell: string): Refusal => ({
  refused: `${organizationId} is in cell ${cell}.`,
});
const isMoving = ({ organizationId }: Side, cell: string): Refusal => ({
  refused: `${organizationId} is moving to or from a database of the cell ${cell}.`,
});
export const foreign = (from: Side, to: Side): Refusal => ({
  refused: `The cell ${to.name} has an organization with the ID ${from.organizationId} that did not come from the cell ${from.name}`,
  isForeign: true,
});
