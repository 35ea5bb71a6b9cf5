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
 * renew:     the move was aborted, but the abort was interrupted: begins another one
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
  | 'renew'
  | 'discard'
  | 'resume'
  | 'done';

/** Why there is no step. `foreign`: the new cell has rows of the organization that no move has brought there. */
export type Refusal =
  | { refused: 'no data' | 'foreign' | 'kept' | 'active there' | 'nothing to abort' }
  | { refused: 'in' | 'moving'; cell: string };

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
  if (facts.state === 'stopping' || facts.state === 'stopped') return { refused: 'moving', cell: facts.cell };
  if (facts.state === 'expected' || facts.state === 'arriving')
    return isFromHere ? undefined : { refused: 'moving', cell: facts.cell };
  const hasMovedOn = !isFromHere && from.facts !== undefined && arrivedBy(to, from.facts.move);
  return hasMovedOn ? { refused: 'in', cell: facts.cell } : undefined;
}

/** Returns the next step of a move from one cell to another, from what both show now. */
export function nextOfMove(from: Side, to: Side): Step | Refusal {
  const refusal = refusalThere(from, to);
  if (refusal) return refusal;
  const there = to.facts?.state ?? 'here';
  if (there === 'moved') return { refused: 'kept' };
  const takenOver = hasTakenOver(from, to);
  if (isLive(from)) {
    if (!from.hasRows) return { refused: 'no data' };
    // The old cell has been restored from a backup, or the copy is from an earlier move.
    if (there === 'arriving' || takenOver) return 'reconcile';
    return livesWithRows(to) ? { refused: 'foreign' } : 'stop';
  }
  const { state, move } = from.facts!;
  const refusalHere = refusalOf(from, to);
  if (refusalHere) return refusalHere;
  if (state === 'stopping') return 'drain';
  if (takenOver) return arrivedBy(to, move) ? (state === 'moved' ? 'done' : 'leave') : 'reconcile';
  if (there === 'here') return to.hasRows ? { refused: 'foreign' } : 'expect';
  const isOfThisStop = to.facts!.move === move;
  if (there === 'forgotten') return isOfThisStop ? 'renew' : 'expect';
  if (there === 'expected') return isOfThisStop ? 'copy' : 'expect';
  if (!isOfThisStop) return 'reconcile';
  return state === 'moved' ? 'activate' : 'leave';
}

/** Returns what the old cell's state refuses, if the organization does not live there. */
function refusalOf({ facts }: Side, to: Side): Refusal | undefined {
  const { state, cell, cell_id } = facts!;
  if (state === 'forgotten') return { refused: 'in', cell };
  if (cell_id !== to.id) return { refused: state === 'moved' ? 'in' : 'moving', cell };
  return state === 'expected' || state === 'arriving' ? { refused: 'moving', cell } : undefined;
}

/** Returns the next step to abort a move, from what both cells show now. */
export function nextOfAbort(from: Side, to: Side): Step | Refusal {
  const there = to.facts?.state ?? 'here';
  const isComing = (there === 'expected' || there === 'arriving') && to.facts!.cell_id === from.id;
  if (isLive(from)) {
    if (isComing) return from.hasRows ? 'discard' : { refused: 'no data' };
    return hasTakenOver(from, to) ? { refused: 'active there' } : 'done';
  }
  const { state, move } = from.facts!;
  const refusalHere = refusalOf(from, to);
  if (refusalHere) return refusalHere;
  if (hasTakenOver(from, to)) return { refused: 'active there' };
  const refusal = refusalThere(from, to);
  if (refusal) return refusal;
  // Until the old cell shows the organization as moved, the new one cannot take it over.
  if (state !== 'moved') return 'resume';
  if (there === 'here' && to.hasRows) return { refused: 'foreign' };
  const isFenced = (there === 'forgotten' || there === 'moved') && to.facts!.move === move;
  return isFenced ? 'resume' : 'discard';
}

/** Returns whether the old cell `from` may delete its copy, now that the organization should live in the cell `to`. */
export function nextOfForget(from: Side, to: Side): 'delete' | 'done' | Refusal {
  const state = from.facts?.state ?? 'here';
  if (state === 'forgotten') return 'done';
  if (state !== 'moved')
    return isLive(from)
      ? { refused: from.hasRows ? 'in' : 'no data', cell: from.name }
      : { refused: 'moving', cell: from.facts!.cell };
  return livesWithRows(to) ? 'delete' : { refused: 'in', cell: from.facts!.cell };
}
