import { Problem, unavailable } from '../values/problem.js';

/**
 * The states of an organization that is moving to another cell, has moved to one, or has come from one. The schema and
 * docs/scale.md describe these states.
 */
export const relocationStates = ['here', 'stopping', 'stopped', 'moved', 'forgotten', 'arriving'] as const;

export interface Relocation {
  state: (typeof relocationStates)[number];
  /** The name of the other cell. */
  cell: string;
}

/** Returns the problem for a request about an organization in this state, or undefined if this cell can handle it. */
export function relocationProblem({ state, cell }: Relocation, isWrite: boolean): Problem | undefined {
  if (state === 'moved' || state === 'forgotten') return organizationElsewhere(cell);
  if (state === 'arriving') return organizationMoving();
  return isWrite && state !== 'here' ? organizationMoving() : undefined;
}

export function organizationElsewhere(cell: string): Problem {
  return new Problem('wrong_cell', `The organization is in cell ${cell}. Nothing was changed.`, {
    cell,
    // For proxies, which do not read bodies.
    headers: { 'Posthorn-Cell': cell },
  });
}

export function organizationMoving(): Problem {
  return unavailable(
    'The organization is being moved to another cell. This takes seconds to minutes. Nothing was changed. Try again.',
  );
}
