type ActorType = 'user' | 'agent' | 'system';

export interface Routine {
  /** How much of the work is about these resources. */
  share: number;
  /** How many of them the company wants at once. */
  wanted: number;
  isOrganizationWide?: true;
  createdBy: readonly ActorType[];
  moves: Readonly<Record<string, Move>>;
}

interface Move {
  /** The statuses in which the company makes this move. */
  from: readonly string[];
  by: readonly ActorType[];
  /** How often it is made, relative to other moves from the same status. Default: 1. */
  weight?: number;
}

const anybody: readonly ActorType[] = ['user', 'agent', 'system'];
const office: readonly ActorType[] = ['user', 'system'];

/**
 * What the company does, by the name of the resource in paths. The platform decides what is allowed; a test compares
 * this table with it.
 */
export const routines = {
  tasks: {
    share: 24,
    wanted: 40,
    createdBy: anybody,
    moves: {
      assign: { from: ['open', 'in_progress'], by: anybody },
      start: { from: ['open'], by: anybody },
      complete: { from: ['in_progress'], by: anybody },
      cancel: { from: ['open', 'in_progress'], by: anybody, weight: 0.15 },
    },
  },
  runs: {
    share: 22,
    wanted: 30,
    createdBy: anybody,
    moves: {
      complete: { from: ['running'], by: ['agent'] },
      fail: { from: ['running'], by: ['agent', 'system'], weight: 0.25 },
    },
  },
  invoices: {
    share: 14,
    wanted: 30,
    isOrganizationWide: true,
    createdBy: ['user'],
    moves: {
      finalize: { from: ['draft'], by: office },
      pay: { from: ['open'], by: office },
      'fail-payment': { from: ['open'], by: ['system'], weight: 0.4 },
      void: { from: ['open'], by: ['user'], weight: 0.2 },
    },
  },
  incidents: {
    share: 9,
    wanted: 15,
    createdBy: anybody,
    moves: {
      'change-severity': { from: ['open'], by: anybody, weight: 0.5 },
      resolve: { from: ['open'], by: anybody },
    },
  },
  executions: {
    share: 9,
    wanted: 20,
    createdBy: ['user'],
    moves: {
      block: { from: ['running'], by: anybody },
      resume: { from: ['blocked'], by: anybody },
    },
  },
  'service-lines': {
    share: 7,
    wanted: 8,
    createdBy: ['user'],
    moves: {
      activate: { from: ['draft'], by: anybody },
      pause: { from: ['active'], by: anybody },
      resume: { from: ['paused'], by: anybody },
      close: { from: ['active', 'paused'], by: office, weight: 0.15 },
    },
  },
  integrations: {
    share: 5,
    wanted: 6,
    isOrganizationWide: true,
    createdBy: office,
    moves: {
      'fail-sync': { from: ['connected'], by: ['system'] },
      disconnect: { from: ['connected'], by: office, weight: 0.3 },
      reconnect: { from: ['disconnected'], by: office },
    },
  },
  users: {
    share: 4,
    wanted: 15,
    isOrganizationWide: true,
    createdBy: office,
    moves: {
      'change-role': { from: ['invited'], by: office },
      deactivate: { from: ['invited'], by: office, weight: 0.3 },
    },
  },
  capacities: {
    share: 4,
    wanted: 8,
    createdBy: ['user'],
    moves: {
      warn: { from: ['normal', 'strained', 'short'], by: ['system'] },
      'detect-gap': { from: ['normal', 'strained', 'short'], by: ['system', 'agent'] },
    },
  },
  agents: {
    share: 2,
    wanted: 6,
    createdBy: ['user'],
    moves: { 'report-violation': { from: ['active'], by: ['agent', 'system'] } },
  },
} as const satisfies Record<string, Routine>;

export type ResourcesName = keyof typeof routines;

export function routineOf(resources: ResourcesName): Routine {
  return routines[resources];
}

/** Returns the moves that the company makes with a resource of this status. */
export function movesFrom(resources: ResourcesName, status: string): { name: string; weight: number }[] {
  return Object.entries(routineOf(resources).moves)
    .filter(([, { from }]) => from.includes(status))
    .map(([name, { weight = 1 }]) => ({ name, weight }));
}
