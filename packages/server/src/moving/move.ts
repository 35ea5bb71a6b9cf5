import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { AuditOrigin } from '../audit/audit.js';
import { writeAudit } from '../audit/audit-store.js';
import { readCell } from '../cells/relocation-store.js';
import type { Queryable } from '../postgres/database.js';
import { readClockMs } from '../postgres/transaction.js';
import { verifyAgain } from '../webhooks/probe-store.js';
import { readSecretsOf, type Sealed } from '../webhooks/secret-store.js';
import { releaseAll } from '../webhooks/waiting-store.js';
import { type CopyOptions, copyOrganization } from './copy.js';
import * as copies from './copy-store.js';
import { deliveriesReturn, transactionsEnd } from './drain-store.js';
import { nextOfAbort, nextOfMove, type Refusal, type Side, type Step } from './plan.js';
import * as states from './state-store.js';

export interface MoveOptions extends CopyOptions {
  /** Who moves the organization. */
  origin: AuditOrigin;
  /** The longest stop that is accepted, by the estimate before it begins. */
  stopMsMax: number;
  /** Called before the organization stops. Throws to leave everything as it is. */
  onEstimate: (rows: number, stopMs: number) => Promise<void>;
  onStep: (step: Step) => void;
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
        this.#move = from.facts?.move;
        const step = await this.#accept(nextOfMove(from, to));
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
      const step = await this.#accept(nextOfAbort(from, to));
      if (step === 'done' && steps === 0)
        throw new states.MoveRefused(
          `${from.organizationId} is not moving from cell ${from.name} to cell ${to.name}, so there is nothing to abort.`,
        );
      if (step === 'done') return;
      await this.#take(step, from, to, steps);
    }
  }

  async #sides(): Promise<[Side, Side]> {
    return states.sidesOf(this.#options);
  }

  #accept(next: Step | Refusal): Promise<Step> {
    return states.accept(next, this.#options.to, this.#options.organizationId);
  }

  async #take(step: Exclude<Step, 'done'>, from: Side, to: Side, steps: number): Promise<void> {
    if (steps > stepsMax)
      throw new states.MoveRefused('Another process is working on this organization. Try again later.');
    if (['stop', 'drain', 'copy', 'leave'].includes(step)) this.#options.signal?.throwIfAborted();
    this.#options.onStep(step);
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
      case 'discard':
        return this.#discard(to, from, from.facts?.move);
      case 'resume':
        return this.#resume(from);
    }
  }

  #change(client: Queryable, side: Side, change: Parameters<typeof states.changeState>[3]): Promise<boolean> {
    return states.changeState(client, this.#options.organizationId, side, change);
  }

  async #stop(from: Side, to: Side, move: string): Promise<void> {
    const { organizationId, from: database, onEstimate, stopMsMax } = this.#options;
    await this.#refuseSkew();
    await this.#refuseForeignKeys(to);
    const counts = await copies.withSnapshot(database, async (client) =>
      copies.countRows(client, await copies.readTables(client), organizationId),
    );
    const ms = stopMs + (copies.sumOf(counts) * 1_000) / rowsPerSecond;
    if (ms > stopMsMax) {
      throw new states.MoveRefused(
        `${organizationId} has ${states.grouped(copies.sumOf(counts))} rows, so writes would be rejected for about ${states.seconds(ms)} seconds. --max-stop allows ${states.seconds(stopMsMax)} seconds. Nothing was changed. Raise --max-stop, or see "Split a cell" in docs/scale.md.`,
      );
    }
    await onEstimate(copies.sumOf(counts), ms);
    await copies.makePartitionsFor(this.#options.to, counts);
    this.#stoppedAtMs = performance.now();
    this.#move = move;
    await this.#change(database, from, { to: 'stopping', other: to, move });
  }

  async #drain(from: Side): Promise<void> {
    await this.#settle(from);
    await this.#change(this.#options.from, from, { to: 'stopped' });
  }

  /** Waits until all transactions that are open in the old cell have ended, and no attempt is in flight. */
  async #settle({ name }: Side): Promise<void> {
    const { organizationId, from } = this.#options;
    await transactionsEnd(from, name, drainMsMax);
    await deliveriesReturn(from, organizationId, drainMsMax);
  }

  async #copy(from: Side, to: Side): Promise<void> {
    // Until the organization was stopped, the service could record its own events about the attempts in flight.
    await this.#settle(from);
    const startedMs = performance.now();
    this.#copied.rows += await copyOrganization(this.#options, from, to);
    this.#copied.ms += performance.now() - startedMs;
    this.#copiedMove = from.facts!.move;
  }

  async #expect(from: Side, to: Side): Promise<void> {
    const { to: database } = this.#options;
    if (!(await this.#change(database, to, { to: 'expected', other: from, move: from.facts!.move }))) return;
    // They may be recording something for the organization.
    await transactionsEnd(database, to.name, drainMsMax);
  }

  /** Refuses a move after which the nodes of the new cell could not decrypt the secrets, and so deliver nothing. */
  async #refuseForeignKeys({ name }: Side): Promise<void> {
    const { organizationId, from, to, reencrypt = (sealed: Sealed) => sealed } = this.#options;
    const { keys } = (await readCell(to))!;
    const isKnown = (sealed: Buffer | null) =>
      sealed === null || keys.some((start) => sealed.subarray(0, start.length).equals(start));
    const secrets = (await readSecretsOf(from, organizationId)).map(reencrypt);
    if (
      keys.length === 0 ||
      secrets.every((one) => [one.secret, one.previous_secret, one.headers].every(isKnown))
    )
      return;
    throw new states.MoveRefused(
      `The nodes of the cell ${name} cannot decrypt the webhook secrets of ${organizationId}. Set POSTHORN_TARGET_SECRET_KEY to the POSTHORN_SECRET_KEY of that cell, and run the command again.`,
    );
  }

  /** Marks the organization as moved. From here on, only the new cell can act for it. */
  async #leave(from: Side, to: Side): Promise<void> {
    const { organizationId, from: source, to: target } = this.#options;
    const isOfThisProcess = from.facts!.move === this.#copiedMove;
    if (!isOfThisProcess && (await copies.countMissing(source, target, organizationId)) > 0)
      return this.#reconcile(from, to);
    await this.#change(source, from, { to: 'moved' });
  }

  async #activate(from: Side, to: Side): Promise<void> {
    const { organizationId, from: source, to: target, origin } = this.#options;
    // New events must be later than all copied ones, and than those that the old cell shows.
    const endMs = Math.max(
      await states.readEndMs(source, organizationId),
      await states.readEndMs(target, organizationId),
    );
    for (let aheadMs = -1; aheadMs <= 0; aheadMs = (await readClockMs(target)) - endMs)
      await delay(1 - aheadMs);
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

  /**
   * Decides between what the old cell has and what the new one has from another stop, for example because one of the
   * databases was restored from a backup. Whatever has everything that the other one has is continued with.
   */
  async #reconcile(from: Side, to: Side): Promise<void> {
    const { organizationId, from: source, to: target } = this.#options;
    const isCopy = to.facts!.state === 'arriving';
    if (isCopy && (await copies.countMissing(target, source, organizationId)) === 0)
      return this.#discard(to, from);
    const missing = await copies.countMissing(source, target, organizationId);
    if (missing > 0) {
      const both = isCopy ? ', and the other way around' : '';
      throw new states.MoveRefused(
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
      state === 'moved' ||
      (state === 'arriving' && (await copies.countMissing(target, source, organizationId)) > 0);
    await target.transaction(async (client) => {
      if (state === 'expected' && (await copies.countForeignRows(client, organizationId)) > 0) {
        // Nothing has been copied. Whatever is there was recorded there.
        await states.deleteState(client, organizationId, to);
        return;
      }
      const change = { to: isKept ? 'moved' : 'forgotten', other: from, ...(move && { move }) } as const;
      if (!(await this.#change(client, to, change)) || isKept || state !== 'arriving') return;
      await copies.useCopySettings(client);
      await copies.deleteCopy(client, organizationId);
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
    throw new states.MoveRefused(
      `The clocks of the two databases differ by ${Math.abs(there - here)} ms. At most ${skewMsMax} ms is accepted.`,
    );
  }
}
