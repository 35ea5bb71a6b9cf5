import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type AuditOrigin, entryAbout, type NewAuditEntry } from '../audit/audit.js';
import { writeAudit } from '../audit/audit-store.js';
import { readCell } from '../cells/relocation-store.js';
import { type Database, readClockMs } from '../postgres/database.js';
import type { SecretBox } from '../values/secret-box.js';
import { countSecretsWithout, reencryptSecrets } from '../webhooks/secret-store.js';
import { releaseHeld } from '../webhooks/webhook-store.js';
import * as copies from './copy-store.js';
import { deliveriesReturn, eventsCounted, transactionsEnd } from './drain-store.js';
import { nextOfAbort, nextOfForget, nextOfMove, type Side, type Step } from './plan.js';
import { accept, type Cells, changeState, MoveRefused, readSides } from './state-store.js';

export interface MoveOptions extends Cells {
  /** Who moves the organization. */
  origin: AuditOrigin;
  /** The longest stop that is accepted, by the estimate before it begins. */
  stopMsMax: number;
  /** Called before the organization stops. Throws to leave everything as it is. */
  onEstimate: (rows: number, stopMs: number) => Promise<void>;
  onStep: (step: Step | 'done') => void;
  /** Called with the number of rows of each chunk that is copied. */
  onRows: (rows: number) => void;
  /** Encrypts with the key of the other cell, and decrypts with those of both. Absent if they have the same. */
  secrets?: SecretBox | undefined;
  /** How long nodes of the old cell may serve reads because they have just looked up a token. */
  trustMs?: number;
}

/** A stop takes this long, and as long again as copying the rows takes: see `npm run bench -- move`. */
const stopMs = 1_500;
const rowsPerSecond = 35_000;
/** How long a lookup of a token is used, and how long the request that made it may still take to read. */
const tokenTrustMs = 2_000;
/** More steps than any move takes. Other commands may be working on the same organization. */
const stepsMax = 50;
const heldAtOnce = 1_000;

/**
 * Moves an organization to another cell, continues an interrupted move, or aborts it. Reads the state of both cells
 * before each step, and remembers nothing that the next step depends on, so it does not matter where an earlier process
 * was interrupted or which of the databases has been restored since.
 */
export class Move {
  readonly #options: MoveOptions;
  #hasStopped = false;

  constructor(options: MoveOptions) {
    this.#options = options;
  }

  /** Returns the names of both cells. */
  async run(): Promise<{ from: string; to: string }> {
    try {
      return await this.#take(nextOfMove);
    } catch (error) {
      // Whatever has failed, the organization works on in the old cell, unless the new one has taken over.
      if (this.#hasStopped) await this.abort().catch(() => undefined);
      throw error;
    }
  }

  async abort(): Promise<void> {
    const { steps, from, to } = await this.#take(nextOfAbort);
    if (steps > 0) return;
    const { organizationId } = this.#options;
    throw new MoveRefused(
      `${organizationId} is not moving from cell ${from} to cell ${to}, so there is nothing to abort.`,
    );
  }

  /** Takes one step after the other, with the methods of these names, until nothing is left to do. */
  async #take(next: typeof nextOfMove): Promise<{ steps: number; from: string; to: string }> {
    for (let steps = 0; steps < stepsMax; steps += 1) {
      const [from, to] = await readSides(this.#options);
      const step = accept(next(from, to));
      this.#options.onStep(step);
      if (step !== 'done') await this[step](from, to);
      else if (next === nextOfAbort || (await this.#isDone(from)))
        return { steps, from: from.name, to: to.name };
    }
    throw new MoveRefused('Another process is working on this organization. Try again later.');
  }

  private async stop(from: Side, to: Side): Promise<void> {
    const { organizationId, from: source, to: target, onEstimate, stopMsMax } = this.#options;
    await this.#requireKeys(to);
    const aheadMs = (await readClockMs(source)) - (await readClockMs(target));
    const ms = stopMs + (from.rows * 1_000) / rowsPerSecond + Math.max(0, aheadMs);
    if (ms > stopMsMax)
      throw new MoveRefused(
        `${organizationId} has ${grouped(from.rows)} rows, so writes would be rejected for about ${seconds(ms)} seconds. --max-stop allows ${seconds(stopMsMax)} seconds. Nothing was changed. Raise --max-stop, or see "Split a cell" in docs/scale.md.`,
      );
    await onEstimate(from.rows, ms);
    // What is left of an earlier stay there must not name a third cell: see `nextOfMove`.
    if (to.facts?.state === 'forgotten') await changeState(target, to, { to: 'forgotten', other: from });
    this.#hasStopped = true;
    await changeState(source, from, { to: 'stopping', other: to, move: randomUUID() });
  }

  private async drain(from: Side): Promise<void> {
    await this.#settle(from);
    await changeState(this.#options.from, from, { to: 'stopped', move: randomUUID() });
  }

  /** Waits until all transactions that are open in the old cell have ended, and no attempt is in flight. */
  async #settle({ name, organizationId }: Side): Promise<void> {
    await transactionsEnd(this.#options.from, name);
    await deliveriesReturn(this.#options.from, organizationId);
  }

  private async copy(from: Side, to: Side): Promise<void> {
    const { from: source, to: target } = this.#options;
    // Until the organization was stopped, the service could record its own events about the attempts in flight.
    await this.#settle(from);
    const nowMs = await readClockMs(source);
    await eventsCounted(source, from.name, nowMs);
    await eventsCounted(target, to.name, nowMs);
    await copyOrganization(this.#options, from, to);
  }

  /** Marks the organization as moved. From here on, only the new cell can act for it. */
  private async leave(from: Side, to: Side): Promise<void> {
    // A copy from this very stop was compared when it was made.
    const { from: source, to: target } = this.#options;
    if (from.facts!.move !== to.facts!.move) {
      if (to.facts!.state === 'here') await requireAll(this.#options, from, to);
      else if ((await this.#countMissing(source, target)) > 0) return this.discard(from, to);
    }
    await changeState(source, from, { to: 'moved', other: to, move: to.facts!.move });
  }

  private async activate(from: Side, to: Side): Promise<void> {
    const { organizationId, origin, to: target } = this.#options;
    const about = { organization_id: organizationId, workspace_id: null, id: organizationId };
    const changes = { cell: { from: from.name, to: to.name } };
    const entry = entryAbout('organization', about, 'organization.moved', changes, origin);
    await this.#serve(target, to, [entry]);
  }

  private async resume(from: Side): Promise<void> {
    await this.#serve(this.#options.from, from);
  }

  /** Lets a cell serve the organization, from now on or again. */
  async #serve(database: Database, side: Side, entries: readonly NewAuditEntry[] = []): Promise<void> {
    await database.transaction(async (client) => {
      if (!(await changeState(client, side, { to: 'here' }))) return;
      await writeAudit(client, entries);
    }, true);
    while ((await releaseHeld(database, heldAtOnce)) > 0);
  }

  /**
   * Makes sure that the new cell cannot take over, and deletes its copy. If the copy has something that the old cell
   * does not have, it is kept.
   */
  private async discard(_: Side, to: Side): Promise<void> {
    const { from: source, to: target } = this.#options;
    const isKept = (await this.#countMissing(target, source)) > 0;
    await target.transaction(async (client) => {
      if (!(await changeState(client, to, { to: isKept ? 'moved' : 'forgotten' })) || isKept) return;
      await copies.deleteCopy(client, to.organizationId);
    }, true);
  }

  #countMissing(from: Database, to: Database): Promise<number> {
    return copies.countMissing(from, to, this.#options.organizationId, this.#options.retentionMs);
  }

  /** Returns whether no node of the old cell serves reads anymore, and the new cell still has the organization. */
  async #isDone({ name }: Side): Promise<boolean> {
    await delay(this.#options.trustMs ?? tokenTrustMs);
    await transactionsEnd(this.#options.from, name);
    const [from, to] = await readSides(this.#options);
    return nextOfMove(from, to) === 'done';
  }

  /** Refuses a move after which the nodes of the new cell could not decrypt the secrets, and so deliver nothing. */
  async #requireKeys({ name }: Side): Promise<void> {
    const { organizationId, from, to, secrets } = this.#options;
    const { keys } = (await readCell(to))!;
    const areKnown = secrets
      ? keys.some((key) => key.equals(secrets.prefix))
      : (await countSecretsWithout(from, keys, organizationId)) === 0;
    if (keys.length > 0 && !areKnown)
      throw new MoveRefused(
        `The nodes of the cell ${name} cannot decrypt the webhook secrets of ${organizationId}. Set POSTHORN_TARGET_SECRET_KEY to the POSTHORN_SECRET_KEY of that cell, and run the command again.`,
      );
  }
}

/**
 * Copies everything that belongs to a stopped organization in one transaction of the new cell, from one snapshot of the
 * old one, and compares the number of rows in every table. Copies nothing if another process has done so in the meantime.
 */
async function copyOrganization(options: MoveOptions, from: Side, to: Side): Promise<void> {
  const { organizationId, from: source, to: target, secrets, onRows } = options;
  await copies.withSnapshot(source, async (snapshot) => {
    const tables = await copies.readTables(snapshot);
    const counts = await copies.countRows(snapshot, tables, organizationId);
    await copies.makePartitionsFor(target, counts);
    await target.transaction(async (client) => {
      const arriving = { to: 'arriving', other: from, move: from.facts!.move } as const;
      if (!(await changeState(client, to, arriving))) return;
      await copies.useCopySettings(client);
      if (to.facts) await copies.deleteLeftovers(client, organizationId);
      for (const table of tables) await copies.copyTable(snapshot, client, table, organizationId, onRows);
      const there = await copies.countRows(client, tables, organizationId);
      for (const name of new Set([...counts.keys(), ...there.keys()]))
        if (counts.get(name) !== there.get(name))
          throw new MoveRefused(
            `The copy of ${organizationId} has ${there.get(name) ?? 0} instead of ${counts.get(name) ?? 0} rows in ${name}. Nothing was copied.`,
          );
      if (secrets) await reencryptSecrets(client, secrets);
    }, true);
  });
}

/** Deletes the old copy of an organization that left at least `ageMsMin` ago, if the new cell has all of it. */
export async function forgetOrganization(cells: Cells, ageMsMin: number): Promise<void> {
  const { organizationId, from: database } = cells;
  const [from, to] = await readSides(cells);
  if (accept(nextOfForget(from, to)) === 'done') return;
  const leftMs = from.facts!.since.getTime() + ageMsMin - (await readClockMs(database));
  if (leftMs > 0)
    throw new MoveRefused(
      `${organizationId} left this cell less than 3 days ago. Try again in ${Math.ceil(leftMs / 3_600_000)} hours, or add --now to delete the old copy now.`,
    );
  await requireAll(cells, from, to);
  await database.transaction(async (client) => {
    if (!(await changeState(client, from, { to: 'forgotten' }))) return;
    await copies.deleteCopy(client, organizationId);
    // The new cell may have failed over in the meantime. Then this is rolled back.
    accept(nextOfForget(from, (await readSides(cells))[1]));
  }, true);
}

/** Throws unless the cell `to` has every event and audit log entry that the cell `from` has. */
async function requireAll(cells: Cells, from: Side, to: Side): Promise<void> {
  const { organizationId, retentionMs } = cells;
  const missing = await copies.countMissing(cells.from, cells.to, organizationId, retentionMs);
  if (missing > 0)
    throw new MoveRefused(
      `The cell ${to.name} lacks ${missing} events and audit log entries of ${organizationId} that the cell ${from.name} has. Nothing was deleted. See "Restored cells" in docs/operate.md.`,
    );
}

export const seconds = (ms: number) => (ms / 1_000).toFixed(1);
export const grouped = (count: number) => count.toLocaleString('en');
