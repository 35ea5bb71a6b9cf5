/** A request that waits to be recorded. */
export interface Queued {
  /** The organization of its first event. */
  organizationId: string;
  events: number;
  characters: number;
  sinceMs: number;
}

/**
 * Organizations with few events share transactions, so that none of them waits behind an organization with many. Those
 * with many share transactions of their own.
 */
const kinds = ['few', 'many'] as const;
type Kind = (typeof kinds)[number];

/** The requests of one transaction. */
export interface Group<Request> {
  requests: readonly Request[];
  kind: Kind;
  startedMs: number;
}

interface Organization<Request> {
  waiting: Request[];
  /** Events that wait, and those in transactions that run. */
  events: number;
  running: number;
  restsUntilMs: number;
}

/** How many events, waiting or in transactions, are many for one organization. */
const many = 10;
/** How many transactions of each kind run at once. */
const transactionsMax = 2;
/** A second transaction starts if at least this many events are waiting, or if one has waited this long. */
const secondEvents = 250;
export const secondMs = 25;
const eventsMax = 1_000;
const charactersMax = 16 * 1024 * 1024;
/** How many events one organization may have in transactions while others record. */
const shareMax = 100;
/** Others count for this long after they have recorded. */
const sharedMs = 1_000;

/**
 * The requests that wait for a transaction. Organizations take turns. While others record, an organization with many
 * events has one short transaction at a time. After one that it had to itself, it rests for as long as that took, which
 * leaves half of the time of the database to the others.
 */
export class RecordingQueue<Request extends Queued> {
  /** Who had its turn most recently comes last. */
  readonly #organizations = new Map<string, Organization<Request>>();
  readonly #running = { few: 0, many: 0 };
  #last = '';
  #sharedUntilMs = Number.NEGATIVE_INFINITY;

  add(request: Request): void {
    const { organizationId: id, events, sinceMs } = request;
    if (this.#last !== '' && this.#last !== id) this.#sharedUntilMs = sinceMs + sharedMs;
    this.#last = id;
    const known = this.#organizations.get(id);
    const organization = known ?? { waiting: [], events: 0, running: 0, restsUntilMs: 0 };
    if (!known) this.#organizations.set(id, organization);
    organization.waiting.push(request);
    organization.events += events;
  }

  get isEmpty(): boolean {
    return [...this.#organizations.values()].every(({ waiting }) => waiting.length === 0);
  }

  /** Takes the requests of the next transaction, or returns undefined if none may start now. */
  take(nowMs: number): Group<Request> | undefined {
    for (const [id, { waiting, running, restsUntilMs }] of this.#organizations)
      if (waiting.length === 0 && running === 0 && nowMs >= restsUntilMs) this.#organizations.delete(id);
    for (const kind of kinds) {
      const turns = [...this.#organizations].filter(([, each]) => this.#hasTurn(each, kind, nowMs));
      if (this.#mayStart(kind, turns, nowMs)) return this.#takeGroup(kind, turns, nowMs);
    }
    return undefined;
  }

  #hasTurn(organization: Organization<Request>, kind: Kind, nowMs: number): boolean {
    const { waiting, running, restsUntilMs } = organization;
    if (waiting.length === 0 || kindOf(organization) !== kind) return false;
    return kind === 'few' || nowMs >= this.#sharedUntilMs || (running === 0 && nowMs >= restsUntilMs);
  }

  /** A few events wait for more, because many small transactions cost more in total. */
  #mayStart(kind: Kind, turns: readonly [string, Organization<Request>][], nowMs: number): boolean {
    const running = this.#running[kind];
    if (running === 0 || running >= transactionsMax) return running === 0 && turns.length > 0;
    const waiting = turns.reduce((sum, [, { events, running }]) => sum + events - running, 0);
    return (
      waiting >= secondEvents || turns.some(([, one]) => nowMs - one.waiting[0]!.sinceMs >= secondMs - 1)
    );
  }

  #takeGroup(kind: Kind, turns: readonly [string, Organization<Request>][], nowMs: number): Group<Request> {
    const ownMax = nowMs < this.#sharedUntilMs ? shareMax : eventsMax;
    const requests: Request[] = [];
    let [events, characters] = [0, 0];
    for (const [id, organization] of turns) {
      let [own, count] = [0, 0];
      for (const request of organization.waiting) {
        const isFull = events + request.events > eventsMax || characters + request.characters > charactersMax;
        if ((requests.length > 0 && isFull) || (own > 0 && own + request.events > ownMax)) break;
        requests.push(request);
        count += 1;
        own += request.events;
        events += request.events;
        characters += request.characters;
      }
      if (count === 0) continue;
      organization.waiting.splice(0, count);
      organization.running += own;
      this.#organizations.delete(id);
      this.#organizations.set(id, organization);
    }
    this.#running[kind] += 1;
    return { requests, kind, startedMs: nowMs };
  }

  /** Notes that a transaction has ended. Returns how long its organization rests. */
  ended({ requests, kind, startedMs }: Group<Request>, nowMs: number): number {
    this.#running[kind] -= 1;
    const restMs =
      kind === 'many' && nowMs < this.#sharedUntilMs && isOfOne(requests) ? nowMs - startedMs : 0;
    for (const { organizationId, events } of requests) {
      const organization = this.#organizations.get(organizationId)!;
      organization.running -= events;
      organization.events -= events;
      organization.restsUntilMs = nowMs + restMs;
    }
    return restMs;
  }

  /** Removes and returns the requests that have waited at least this long. */
  takeLate(waitedMs: number, nowMs: number): Request[] {
    return [...this.#organizations.values()].flatMap((organization) => {
      const firstEarly = organization.waiting.findIndex(({ sinceMs }) => nowMs - sinceMs < waitedMs);
      const late = organization.waiting.splice(0, firstEarly < 0 ? organization.waiting.length : firstEarly);
      for (const { events } of late) organization.events -= events;
      return late;
    });
  }
}

function kindOf({ events }: Organization<unknown>): Kind {
  return events < many ? 'few' : 'many';
}

function isOfOne(requests: readonly Queued[]): boolean {
  return requests.every(({ organizationId }) => organizationId === requests[0]!.organizationId);
}
