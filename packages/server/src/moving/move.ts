import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { AuditOrigin } from '../audit/audit.js';
import { writeAudit } from '../audit/audit-store.js';
import { readCell } from '../cells/relocation-store.js';
import type { Database, Queryable, Transaction } from '../postgres/database.js';
import { readClockMs } from '../postgres/transaction.js';
import { addUpHours } from '../stats/delivery-count-store.js';
import { readCountedUntil, recountEvents } from '../stats/event-count-store.js';
import { verifyAgain } from '../webhooks/probe-store.js';
import {
  endGraces,
  readSecretsOf,
  replaceSecrets,
  type Sealed,
  type SealedSecrets,
} from '../webhooks/secret-store.js';
import { releaseAll } from '../webhooks/webhook-store.js';
import {
  copyChain,
  copyTable,
  countForeignRows,
  countMissing,
  countRows,
  deleteCopy,
  deleteSignposts,
  makePartitionsFor,
  readEntriesThere,
  readTables,
  sumOf,
  useCopySettings,
  withSnapshot,
} from './copy-store.js';
import { deliveriesReturn, transactionsEnd } from './drain-store.js';
import { nextOfAbort, nextOfForget, nextOfMove, type Refusal, type Side, type Step } from './plan.js';
import { changeState, deleteState, MoveRefused, readSide, readTimes } from './state-store.js';

/** Encrypts the secrets of a webhook with the key of the other cell. */
export type Reencrypt = (webhook: SealedSecrets) => Sealed;

export interface MoveOptions {
  organizationId: string;
  from: Database;
  to: Database;
  /** Who moves the organization. */
  origin: AuditOrigin;
  /** Absent if both cells have the same keys. */
  reencrypt?: Reencrypt | undefined;
  /** The longest stop that is accepted, by the estimate before it begins. */
  stopMsMax: number;
  /** Called before the organization stops. Throws to leave everything as it is. */
  onEstimate: (rows: number, stopMs: number) => Promise<void>;
  onStep: (step: Step) => void;
  /** Called while rows are copied. */
  onRows: (rows: number) => void;
  /** Ends the move before the organization has left its old cell. */
  signal?: AbortSignal;
  /** How long nodes of the old cell may serve reads because they have just looked up a token. */
  trustMs?: number;
}

export interface Moved {
  from: string;
  to: string;
  /** What this process copied, and how long that took. */
  copied: { rows: number; ms: number };
  /** How long the organization could not be written to. Undefined if an earlier process had stopped it. */
  stoppedMs: number | undefined;
}

/** A stop takes this long, and as long again as copying the rows takes: see `npm run bench -- move`. */
const stopMs = 1_500;
const rowsPerSecond = 35_000;
/** How long the stop waits for transactions and attempts in flight before the organization resumes. */
const drainMsMax = 30_000;
/** How long a lookup of a token is used, and how long the request that made it may still take to read. */
const tokenTrustMs = 2_000;
/** How far the clocks of the two cells may differ: new times must not be earlier than those of the old cell. */
const skewMsMax = 2_000;
/** More steps than any move takes. Other commands may be working on the same organization. */
const stepsMax = 50;

/**
 * Moves an organization to another cell, continues an interrupted move, or aborts it. Reads the state of both cells
 * before each step. What it remembers only saves work, so it does not matter where an earlier process was interrupted
 * or which of the databases has been restored since.
 */
export class Move {
  readonly #options: MoveOptions;
  readonly #copied = { rows: 0, ms: 0 };
  /** The stop that this process is working on. */
  #move: string | undefined;
  /** The stop whose rows this process has copied. */
  #copiedMove: string | undefined;
  #stoppedAtMs: number | undefined;
  #stoppedMs: number | undefined;

  constructor(options: MoveOptions) {
    this.#options = options;
  }

  async run(): Promise<Moved> {
    try {
      for (let steps = 0; ; steps += 1) {
        const [from, to] = await this.#sides();
        const step = await this.#accept(nextOfMove(from, to), from, to);
        this.#move = from.facts?.move;
        if (step === 'done' && (await this.#isDone(from, to)))
          return { from: from.name, to: to.name, copied: this.#copied, stoppedMs: this.#stoppedMs };
        if (step !== 'done') await this.#take(step, from, to, steps);
      }
    } catch (error) {
      // Whatever has failed, the organization works on in the old cell, unless it has left.
      await this.#resumeAfterFailure().catch(() => undefined);
      throw error;
    }
  }

  async abort(): Promise<void> {
    for (let steps = 0; ; steps += 1) {
      const [from, to] = await this.#sides();
      const step = await this.#accept(nextOfAbort(from, to), from, to);
      if (step === 'done' && steps === 0)
        throw await this.#refusal({ refused: 'nothing to abort' }, from, to);
      if (step === 'done') return;
      await this.#take(step, from, to, steps);
    }
  }

  async #sides(): Promise<[Side, Side]> {
    return sidesOf(this.#options);
  }

  async #accept(next: Step | Refusal, from: Side, to: Side): Promise<Step> {
    if (typeof next === 'string') return next;
    throw await this.#refusal(next, from, to);
  }

  #refusal(refusal: Refusal, from: Side, to: Side): Promise<MoveRefused> {
    return refusalOf(refusal, this.#options, from, to);
  }

  async #take(step: Exclude<Step, 'done'>, from: Side, to: Side, steps: number): Promise<void> {
    if (steps > stepsMax)
      throw new MoveRefused('Another process is working on this organization. Try again later.');
    if (['stop', 'drain', 'copy', 'leave'].includes(step)) this.#options.signal?.throwIfAborted();
    this.#options.onStep(step);
    const database = this.#options;
    switch (step) {
      case 'stop':
        return this.#stop(from, to, randomUUID());
      case 'drain':
        return this.#drain(from);
      case 'expect':
        return this.#expect(from, to);
      case 'copy':
        return this.#copy(from, to);
      case 'leave':
        return this.#leave(from, to);
      case 'activate':
        return this.#activate(from, to);
      case 'reconcile':
        return this.#reconcile(from, to);
      case 'renew':
        await this.#change(database.from, from, { to: from.facts!.state, move: randomUUID() });
        return;
      case 'discard':
        return this.#discard(to, from, from.facts?.move);
      case 'resume':
        return this.#resume(from);
    }
  }

  #change(client: Queryable, side: Side, change: Parameters<typeof changeState>[3]): Promise<boolean> {
    return changeState(client, this.#options.organizationId, side, change);
  }

  async #stop(from: Side, to: Side, move: string): Promise<void> {
    const { organizationId, from: database, onEstimate, stopMsMax } = this.#options;
    await this.#refuseSkew();
    await this.#refuseForeignKeys(database, to);
    const counts = await withSnapshot(database, async (client) =>
      countRows(client, await readTables(client), organizationId),
    );
    const ms = stopMs + (sumOf(counts) * 1_000) / rowsPerSecond;
    if (ms > stopMsMax) {
      throw new MoveRefused(
        `${organizationId} has ${grouped(sumOf(counts))} rows, so writes would be rejected for about ${seconds(ms)} seconds. --max-stop allows ${seconds(stopMsMax)} seconds. Nothing was changed. Raise --max-stop, or see "Split a cell" in docs/scale.md.`,
      );
    }
    await onEstimate(sumOf(counts), ms);
    await makePartitionsFor(this.#options.to, counts);
    this.#stoppedAtMs = performance.now();
    this.#move = move;
    await this.#change(database, from, { to: 'stopping', other: to, move });
  }

  /**
   * Waits until all transactions that began before the stop have ended and no attempt is in flight: twice, because until
   * the organization is stopped, the service records its own events about the attempts in flight.
   */
  async #drain(from: Side): Promise<void> {
    const { organizationId, from: database } = this.#options;
    for (const state of ['stopping', 'stopped'] as const) {
      if (state === 'stopped' && !(await this.#change(database, from, { to: state }))) return;
      await transactionsEnd(database, from.name, drainMsMax);
      await deliveriesReturn(database, organizationId, drainMsMax);
    }
  }

  async #expect(from: Side, to: Side): Promise<void> {
    const { to: database } = this.#options;
    if (!(await this.#change(database, to, { to: 'expected', other: from, move: from.facts!.move }))) return;
    // They may be recording something for the organization.
    await transactionsEnd(database, to.name, drainMsMax);
  }

  /** Copies everything in one transaction of the new cell, from one snapshot of the old one. */
  async #copy(from: Side, to: Side): Promise<void> {
    const { organizationId, from: source, to: target, onRows, signal } = this.#options;
    const startedMs = performance.now();
    let rows = 0;
    await target.transaction(async (client) => {
      // If another process has made this copy in the meantime, there is nothing left to do.
      if (!(await this.#change(client, to, { to: 'arriving' }))) return;
      await useCopySettings(client);
      await withSnapshot(source, async (snapshot) => {
        const entriesThere = await readEntriesThere(snapshot, client, organizationId);
        if (entriesThere === undefined || (await countForeignRows(client, organizationId)) > 0)
          throw await this.#refusal({ refused: 'foreign' }, from, to);
        await deleteSignposts(client, organizationId);
        const tables = await readTables(snapshot);
        for (const table of tables.filter(({ name }) => name !== 'audit_chains')) {
          rows += await copyTable(snapshot, client, table, organizationId, entriesThere, () => {
            signal?.throwIfAborted();
            onRows(rows);
          });
          onRows(rows);
        }
        await copyChain(snapshot, client, organizationId);
        await this.#compare(snapshot, client, entriesThere);
        await recountEvents(client, organizationId, await readCountedUntil(snapshot));
        await addUpHours(client, organizationId);
        await this.#encrypt(client, to);
      });
      this.#copiedMove = from.facts!.move;
    }, true);
    this.#copied.rows += rows;
    this.#copied.ms += performance.now() - startedMs;
  }

  /** Throws unless both cells have the same number of rows in every table, partition by partition. */
  async #compare(snapshot: Queryable, client: Queryable, entriesThere: number): Promise<void> {
    const { organizationId } = this.#options;
    const tables = await readTables(snapshot);
    const own = await countRows(snapshot, tables, organizationId, entriesThere);
    const there = await countRows(client, tables, organizationId, entriesThere);
    for (const name of new Set([...own.keys(), ...there.keys()]))
      if (own.get(name) !== there.get(name))
        throw new MoveRefused(
          `The copy of ${organizationId} has ${there.get(name) ?? 0} instead of ${own.get(name) ?? 0} rows in ${name}. Nothing was copied.`,
        );
  }

  /** Encrypts the copied secrets for the nodes of the new cell. */
  async #encrypt(client: Transaction, to: Side): Promise<void> {
    const { organizationId, reencrypt } = this.#options;
    await endGraces(client, organizationId);
    if (reencrypt)
      for (const webhook of await readSecretsOf(client, organizationId))
        await replaceSecrets(client, webhook, reencrypt(webhook));
    await this.#refuseForeignKeys(client, to, (sealed) => sealed);
  }

  /** Refuses a move after which the nodes of the new cell could not decrypt the secrets, and so deliver nothing. */
  async #refuseForeignKeys(
    client: Queryable,
    { name }: Side,
    reencrypt: Reencrypt = this.#options.reencrypt ?? ((sealed) => sealed),
  ): Promise<void> {
    const { organizationId, to } = this.#options;
    const { keys } = (await readCell(to))!;
    const isKnown = (sealed: Buffer | null) =>
      sealed === null || keys.some((start) => sealed.subarray(0, start.length).equals(start));
    const secrets = (await readSecretsOf(client, organizationId)).map(reencrypt);
    if (
      keys.length === 0 ||
      secrets.every((one) => [one.secret, one.previous_secret, one.headers].every(isKnown))
    )
      return;
    throw new MoveRefused(
      `The nodes of the cell ${name} cannot decrypt the webhook secrets of ${organizationId}. Set POSTHORN_TARGET_SECRET_KEY to the POSTHORN_SECRET_KEY of that cell, and run the command again.`,
    );
  }

  /** Marks the organization as moved. From here on, only the new cell can act for it. */
  async #leave(from: Side, to: Side): Promise<void> {
    const { organizationId, from: source, to: target } = this.#options;
    const isOfThisProcess = from.facts!.move === this.#copiedMove;
    if (!isOfThisProcess && (await countMissing(source, target, organizationId)) > 0)
      return this.#reconcile(from, to);
    await this.#change(source, from, { to: 'moved' });
  }

  async #activate(from: Side, to: Side): Promise<void> {
    const { organizationId, from: source, to: target, origin } = this.#options;
    await this.#waitUntilLater(source, target);
    await target.transaction(async (client) => {
      if (!(await this.#change(client, to, { to: 'here' }))) return;
      await verifyAgain(client, organizationId);
      await releaseAll(client, organizationId);
      await writeAudit(client, [
        {
          ...origin,
          organization_id: organizationId,
          workspace_id: null,
          action: 'organization.moved',
          target: { type: 'organization', id: organizationId },
          changes: { cell: { from: from.name, to: to.name } },
        },
      ]);
    }, true);
    if (this.#stoppedAtMs !== undefined) this.#stoppedMs = performance.now() - this.#stoppedAtMs;
  }

  /** Waits until new events in the new cell are later than all copied ones, and than those that the old cell shows. */
  async #waitUntilLater(source: Database, target: Database): Promise<void> {
    const { organizationId } = this.#options;
    const { rows } = await target.query<{ at: Date | null }>({
      text: 'select max(created_at) as at from posthorn.events where organization_id = $1',
      values: [organizationId],
    });
    const { stoppedAt } = await readTimes(source, organizationId);
    const untilMs = Math.max(rows[0]?.at?.getTime() ?? 0, stoppedAt.getTime());
    for (;;) {
      const aheadMs = (await readClockMs(target)) - untilMs;
      if (aheadMs > 0) return;
      await delay(1 - aheadMs);
    }
  }

  /**
   * Decides between what the old cell has and what the new one has from another stop, for example because one of the
   * databases was restored from a backup. Whatever has everything that the other one has is continued with.
   */
  async #reconcile(from: Side, to: Side): Promise<void> {
    const { organizationId, from: source, to: target } = this.#options;
    const isCopy = to.facts!.state === 'arriving';
    if (isCopy && (await countMissing(target, source, organizationId)) === 0) return this.#discard(to, from);
    const missing = await countMissing(source, target, organizationId);
    if (missing > 0) {
      const both = isCopy ? ', and the other way around' : '';
      throw new MoveRefused(
        `The cell ${from.name} has ${missing} events and audit log entries of ${organizationId} that the cell ${to.name} does not have${both}. Nothing was deleted. See "Restored cells" in docs/operate.md.`,
      );
    }
    const move = isCopy ? to.facts!.move : to.facts!.arrived_by!;
    const { state = 'here' } = from.facts ?? {};
    if (state === 'here') await this.#stop(from, to, move);
    else await this.#change(source, from, { to: state, move });
  }

  /**
   * Makes sure that the new cell cannot take over, and deletes its copy. If the copy has something that the old cell
   * does not have, it is kept. `move` is the stop that ends.
   */
  async #discard(to: Side, from: Side, move?: string): Promise<void> {
    const { organizationId, from: source, to: target } = this.#options;
    const state = to.facts?.state ?? 'here';
    const isKept =
      state === 'moved' || (state === 'arriving' && (await countMissing(target, source, organizationId)) > 0);
    await target.transaction(async (client) => {
      if (state === 'expected' && (await countForeignRows(client, organizationId)) > 0) {
        // Nothing has been copied. Whatever is there was recorded there.
        await deleteState(client, organizationId, to);
        return;
      }
      const change = { to: isKept ? 'moved' : 'forgotten', other: from, ...(move && { move }) } as const;
      if (!(await this.#change(client, to, change)) || isKept || state !== 'arriving') return;
      await useCopySettings(client);
      await deleteCopy(client, organizationId);
    }, true);
  }

  async #resume(from: Side): Promise<void> {
    const { organizationId, from: database } = this.#options;
    await database.transaction(async (client) => {
      if (!(await this.#change(client, from, { to: 'here' }))) return;
      await verifyAgain(client, organizationId);
      await releaseAll(client, organizationId);
    }, true);
  }

  /** Undoes the stop that this process was working on, unless the organization has left. */
  async #resumeAfterFailure(): Promise<void> {
    const [from, to] = await this.#sides();
    const isStopped = from.facts?.state === 'stopping' || from.facts?.state === 'stopped';
    if (!isStopped || from.facts?.move !== this.#move || nextOfAbort(from, to) !== 'resume') return;
    await this.#resume(from);
    // Nothing has been copied, so the new cell must not go on expecting it.
    if (to.facts?.state === 'expected' && to.facts.cell_id === from.id) await this.#discard(to, from);
  }

  /** Returns whether no node of the old cell serves reads anymore, and the new cell still has the organization. */
  async #isDone(from: Side, to: Side): Promise<boolean> {
    const { from: database, trustMs = tokenTrustMs } = this.#options;
    await delay(trustMs);
    await transactionsEnd(database, from.name, drainMsMax);
    const [source, target] = await this.#sides();
    return nextOfMove(source, target) === 'done' && source.id === from.id && target.id === to.id;
  }

  async #refuseSkew(): Promise<void> {
    const { from, to } = this.#options;
    const [there, here] = await Promise.all([readClockMs(from), readClockMs(to)]);
    if (Math.abs(there - here) <= skewMsMax) return;
    throw new MoveRefused(
      `The clocks of the two databases differ by ${Math.abs(there - here)} ms. At most ${skewMsMax} ms is accepted.`,
    );
  }
}

export interface ForgetOptions {
  organizationId: string;
  from: Database;
  to: Database;
  /** How old the move must be. */
  ageMsMin: number;
  /** How long events can be read. Older ones may be gone in the new cell. */
  retentionMs: number;
}

/** Deletes the old copy of an organization, if the new cell has everything that was moved. */
export async function forgetOrganization(options: ForgetOptions): Promise<void> {
  const { organizationId, from: database, to: target, ageMsMin, retentionMs } = options;
  const [from, to] = await sidesOf(options);
  const next = nextOfForget(from, to);
  if (next === 'done') return;
  if (typeof next !== 'string') throw await refusalOf(next, options, from, to);
  const { sinceMs } = await readTimes(database, organizationId);
  if (sinceMs < ageMsMin) {
    const hours = Math.ceil((ageMsMin - sinceMs) / 3_600_000);
    throw new MoveRefused(
      `${organizationId} left this cell less than 3 days ago. Try again in ${hours} hours, or add --now to delete the old copy now.`,
    );
  }
  const missing = await countMissing(
    database,
    target,
    organizationId,
    `${retentionMs} milliseconds`,
    '12 months',
  );
  if (missing > 0)
    throw new MoveRefused(
      `The cell ${to.name} lacks ${missing} events and audit log entries of ${organizationId} that the old copy has. Nothing was deleted. See "Restored cells" in docs/operate.md.`,
    );
  await database.transaction(async (client) => {
    if (!(await changeState(client, organizationId, from, { to: 'forgotten' })))
      throw new MoveRefused(`The state of ${organizationId} has changed. Run the command again.`);
    await useCopySettings(client);
    await deleteCopy(client, organizationId);
    // The new cell may have failed over in the meantime.
    const now = await readSide(target, organizationId, '');
    if (now.id !== to.id || nextOfForget(from, now) !== 'delete')
      throw new MoveRefused(`The cell ${to.name} no longer has ${organizationId}. Nothing was deleted.`);
  }, true);
}

/** Reads what both cells show. They must be different ones. */
async function sidesOf({
  organizationId,
  from,
  to,
}: Pick<MoveOptions, 'organizationId' | 'from' | 'to'>): Promise<[Side, Side]> {
  const sides = await Promise.all([
    readSide(from, organizationId, 'of this cell (DATABASE_URL)'),
    readSide(to, organizationId, 'of the other cell (--to)'),
  ]);
  if (sides[0].id === sides[1].id || sides[0].name === sides[1].name)
    throw new MoveRefused(
      `Both databases belong to the cell ${sides[0].name}. Each cell needs its own POSTHORN_CELL.`,
    );
  return sides;
}

async function refusalOf(
  refusal: Refusal,
  { organizationId, to: target }: Pick<MoveOptions, 'organizationId' | 'to'>,
  from: Side,
  to: Side,
): Promise<MoveRefused> {
  switch (refusal.refused) {
    case 'no data':
      return new MoveRefused(`The cell ${from.name} has no data for ${organizationId}.`);
    case 'foreign': {
      const rows = sumOf(await countRows(target, await readTables(target), organizationId));
      return new MoveRefused(
        `The cell ${to.name} already has ${grouped(rows)} rows of an organization with the ID ${organizationId}, which did not come from the cell ${from.name}. Nothing was deleted. See "Restored cells" in docs/operate.md.`,
      );
    }
    case 'kept':
      return new MoveRefused(
        `The cell ${to.name} keeps an old copy of ${organizationId}. Delete it first: run posthorn organization forget ${organizationId} there.`,
      );
    case 'active there':
      return new MoveRefused(
        `${organizationId} already works in the cell ${to.name}. Run the command again without --abort to complete the move.`,
      );
    case 'nothing to abort':
      return new MoveRefused(
        `${organizationId} is not moving from cell ${from.name} to cell ${to.name}, so there is nothing to abort.`,
      );
    case 'in':
      return new MoveRefused(`${organizationId} is in cell ${refusal.cell}.`);
    case 'moving':
      return new MoveRefused(
        `${organizationId} is already moving, to or from another database of the cell ${refusal.cell} or that cell itself.`,
      );
  }
}

export const seconds = (ms: number) => (ms / 1_000).toFixed(1);
export const grouped = (count: number) => count.toLocaleString('en');
