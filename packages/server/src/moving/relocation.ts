import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { AuditOrigin } from '../audit/audit.js';
import {
  changeState,
  enterState,
  hasOrganization,
  keepOrganization,
  type OrganizationMove,
  readArrival,
  readCell,
  readProgress,
  readRelocation,
  resumeOrganization,
  takeOver,
  writeProgress,
} from '../cells/relocation-store.js';
import type { Database } from '../postgres/database.js';
import { readClock, readClockMs } from '../postgres/transaction.js';
import { verifyAgain } from '../webhooks/probe-store.js';
import { activate, type Reencrypt, stageRows } from './arrival-store.js';
import { copyCounts } from './count-store.js';
import { deleteDeparted, deleteOpenRows } from './departed-row-store.js';
import { findExcess, releaseDeliveries } from './draining-store.js';
import { foreignKeys, isStagedForNodes, refuseForeignKeys } from './relocation-keys.js';
import { RelocationRefused } from './relocation-refused.js';
import { stop, transactionsEnd } from './relocation-stop.js';
import { type Copied, type OnPage, type Progress, RelocationCopy } from './round-store.js';

export type RelocationStep = 'copying' | 'stopping' | 'copying the rest' | 'switching' | 'cleaning up';

export interface RelocationOptions {
  organizationId: string;
  from: Database;
  to: Database;
  reencrypt: Reencrypt;
  origin: AuditOrigin;
  onStep: (step: RelocationStep) => void;
  onPage: OnPage;
  /** How long to wait for the counts of the old cell's nodes: a little longer than they keep them in memory. */
  countsMs?: number;
  /** How long the nodes of the old cell trust what they know about a token. After that, none of them serves old data. */
  trustMs?: number;
  /** How many deliveries may wait for a retry: all of them are copied while the organization is stopped. */
  retriesMax?: number;
  /** Stops the copy, and the organization keeps working in its old cell. After the switch, this has no effect. */
  signal?: AbortSignal;
}

export interface Relocated {
  from: string;
  to: string;
  /** What this process copied, and how long that took. Nothing if an earlier process had copied everything. */
  copied: Copied;
  /** How long the organization could not be written to. Undefined if an earlier process had stopped it. */
  stoppedMs: number | undefined;
}

/** Rounds end when one is this short: then little is left to copy while the organization is stopped. */
const shortRoundMs = 2_000;
const roundsMax = 10;
/** How long to wait for transactions that began earlier, while the organization works. */
const transactionsMsMax = 60_000;
/** How long the organization may be stopped before the move fails and the organization resumes. */
const stopMsMax = 30_000;
/** Copying this many takes about five seconds, at the rate that `npm run bench -- move` measured. */
const waitingRetriesMax = 100_000;
const tokenTrustMs = 1_000;
const lateCountsMs = 9_000;
/** How far the clocks of the two cells may differ: new times must not be earlier than those of the old cell. */
const skewMsMax = 2_000;

/**
 * Moves an organization to another cell, or continues an interrupted move. The order of the steps leaves the organization
 * in exactly one cell, whatever stops this process: the old cell lets go of it before the new one takes it, and deletes
 * its rows only after the new one has provably taken over.
 */
export async function moveOrganization(options: RelocationOptions): Promise<Relocated> {
  const { from, to, organizationId, onStep } = options;
  const names = await namesOf(from, to);
  const move: OrganizationMove = { organizationId, id: randomUUID() };
  const departed = await begin(options, move, names);
  const left = departed ? undefined : await leave(options, move, names);
  onStep('switching');
  // Another process may have switched already, and been killed before it could clean up.
  if (
    departed !== 'moved' &&
    (await readArrival(from, to, organizationId, names.from)) === 'copied' &&
    (await takeOver(to, move, 'arriving', names.from))
  ) {
    await delay(options.trustMs ?? tokenTrustMs);
    await arrive(options, move, names);
  }
  const stoppedMs = left && performance.now() - left.stoppedAtMs;
  await requireArrival(options, names);
  if (await takeOver(from, move, 'left', names.to)) await changeState(from, move, 'left', 'moved');
  onStep('cleaning up');
  // The nodes of the old cell write the counts of their last attempts late.
  await delay(options.countsMs ?? lateCountsMs);
  await copyCounts(from, to, move);
  await deleteDeparted(from, move, 'moved');
  return { ...names, copied: left?.copied ?? { rows: 0, ms: 0 }, stoppedMs };
}

/** Returns the names of the two cells. */
export async function namesOf(from: Database, to: Database): Promise<{ from: string; to: string }> {
  const [source, target] = await Promise.all([readCell(from), readCell(to)]);
  if (source === undefined || target === undefined) {
    const which =
      source === undefined ? 'The database to move from (DATABASE_URL)' : 'The database to move to (--to)';
    throw new RelocationRefused(
      `${which} does not belong to a cell. Start one of its nodes with POSTHORN_CELL.`,
    );
  }
  if (source.name === target.name) {
    throw new RelocationRefused(
      `Both databases belong to the cell ${source.name}. Each cell needs its own POSTHORN_CELL.`,
    );
  }
  return { from: source.name, to: target.name };
}

/**
 * Writes the move to both databases, or takes over one that was interrupted. If the organization has already left, only
 * returns its state in the old cell.
 */
async function begin(
  options: RelocationOptions,
  move: OrganizationMove,
  names: { from: string; to: string },
): Promise<'left' | 'moved' | undefined> {
  const { from, to, organizationId } = options;
  const [here, there] = await Promise.all([
    readRelocation(from, organizationId),
    readRelocation(to, organizationId),
  ]);
  if (here && here.cell !== names.to) {
    throw new RelocationRefused(
      here.state === 'moved'
        ? `${organizationId} is in cell ${here.cell}.`
        : `${organizationId} is already moving, to or from the cell ${here.cell}.`,
    );
  }
  if (here?.state === 'left' || here?.state === 'moved') {
    await takeOver(from, move, here.state, names.to);
    return here.state;
  }
  if (here?.state === 'arriving')
    throw new RelocationRefused(`${organizationId} is moving from cell ${names.to} to cell ${names.from}.`);
  if (there && there.state !== 'arriving' && there.state !== 'moved')
    throw new RelocationRefused(`${organizationId} is moving from cell ${names.to} to cell ${there.cell}.`);
  if (there?.state === 'arriving' && there.cell !== names.from)
    throw new RelocationRefused(
      `${organizationId} is already moving from cell ${there.cell} to cell ${names.to}.`,
    );
  if (!(await hasOrganization(from, organizationId)))
    throw new RelocationRefused(`The cell ${names.from} has no data for ${organizationId}.`);
  if (!there && (await hasOrganization(to, organizationId))) throw alreadyThere(organizationId, names.to);
  await refuseSkew(from, to);
  await refuseForeignKeys(options, names.to);
  await refuseRetries(options);
  await from.transaction(async (client) => {
    await enterState(client, move, 'copying', names.to);
    // An earlier process may have stopped it.
    await releaseDeliveries(client, organizationId);
  }, true);
  await enterState(to, move, 'arriving', names.from);
  const { isNew, isClear } = await readProgress<Progress>(to, move);
  if (isClear) await deleteOpenRows(to, move);
  else {
    if (isNew) await refuseMerge(options, names);
    // What an earlier stay or an aborted move has left behind may have gaps.
    else await deleteDeparted(to, move, 'arriving');
    await writeProgress(to, move, { isClear: true });
  }
  return undefined;
}

/** Ends the move if the new cell recorded something for this organization before it knew of the move. */
async function refuseMerge(
  { from, to, organizationId }: RelocationOptions,
  names: { from: string; to: string },
): Promise<void> {
  await transactionsEnd(to, 'new', transactionsMsMax);
  if (!(await hasOrganization(to, organizationId))) return;
  await keepOrganization(to, organizationId, names.from);
  await keepOrganization(from, organizationId, names.to);
  throw alreadyThere(organizationId, names.to);
}

function alreadyThere(organizationId: string, cell: string): RelocationRefused {
  return new RelocationRefused(`The cell ${cell} already has an organization with the ID ${organizationId}.`);
}

/** Refuses to delete anything in the old cell unless the new one has taken over the organization. */
async function requireArrival(
  { from, to, organizationId }: RelocationOptions,
  names: { from: string; to: string },
): Promise<void> {
  const arrival = await readArrival(from, to, organizationId, names.from);
  if (arrival === 'taken over') return;
  const { state } = (await readRelocation(from, organizationId)) ?? {};
  throw new RelocationRefused(
    `The cell ${names.to} has not taken over ${organizationId}${
      arrival === 'unknown' ? ', but it has data for an organization with this ID' : ''
    }. Nothing was deleted in the cell ${names.from}. Check that --to is the right database.${
      arrival === 'missing' && state === 'left'
        ? ` If the copy in the cell ${names.to} is lost, run the command with --abort: the organization ` +
          `then stays in the cell ${names.from}.`
        : ''
    }`,
  );
}

/** Copies the organization, stops it, copies the rest and lets go of it. Returns what was copied and when it stopped. */
async function leave(
  options: RelocationOptions,
  move: OrganizationMove,
  names: { from: string; to: string },
): Promise<{ copied: Copied; stoppedAtMs: number }> {
  const { from, to, onStep, onPage, signal, reencrypt } = options;
  let deadlineMs = Number.POSITIVE_INFINITY;
  const copy = new RelocationCopy(from, to, move, (table, rows) => {
    signal?.throwIfAborted();
    if (performance.now() > deadlineMs) {
      throw new RelocationRefused(
        `Copying the rest of ${move.organizationId} took too long. The organization stays in its old cell. Run the command again when the organization has less traffic.`,
      );
    }
    onPage(table, rows);
  });
  onStep('copying');
  let progress = await readProgress<Progress>(to, move);
  for (let round = 1; round <= roundsMax; round += 1) {
    const beganMs = performance.now();
    const floor = await readClock(from);
    await transactionsEnd(from, 'old', transactionsMsMax);
    const next = await copy.round(progress, floor);
    await writeProgress(to, move, next);
    progress = next;
    if (performance.now() - beganMs < shortRoundMs) break;
  }
  await transactionsEnd(from, 'old', transactionsMsMax);
  await refuseRetries(options);

  signal?.throwIfAborted();
  onStep('stopping');
  const stoppedAtMs = performance.now();
  deadlineMs = stoppedAtMs + stopMsMax;
  await changeState(from, move, 'copying', 'stopping');
  try {
    await stop(from, move, deadlineMs);
    onStep('copying the rest');
    await copy.lastRound(progress);
    await stageRows(from, to, move, progress.firstDay ?? '', reencrypt);
    if (!(await isStagedForNodes(options))) throw foreignKeys(options, names.to);
    signal?.throwIfAborted();
  } catch (error) {
    await resume(from, move);
    throw error;
  }
  // From here on, only the new cell may act for the organization.
  await changeState(from, move, 'stopped', 'left');
  return { copied: copy.copied, stoppedAtMs };
}

/** Lets the organization work in its old cell again, unless another process has taken over. */
async function resume(from: Database, move: OrganizationMove): Promise<void> {
  await from.transaction(async (client) => {
    if (!(await resumeOrganization(client, move))) return;
    await releaseDeliveries(client, move.organizationId);
    await verifyAgain(client, move.organizationId);
  }, true);
}

/** Lets the new cell act for the organization. */
async function arrive(
  options: RelocationOptions,
  move: OrganizationMove,
  names: { from: string; to: string },
): Promise<void> {
  const { from, to, origin, organizationId, reencrypt } = options;
  const { firstDay = '' } = await readProgress<Progress>(to, move);
  if (!(await isStagedForNodes(options))) {
    // The new cell has got other keys in the meantime, so the rows are staged again. They have not changed in the old
    // cell since the organization left.
    await refuseForeignKeys(options, names.to, ' Until then, no cell serves the organization.');
    await stageRows(from, to, move, firstDay, reencrypt);
  }
  await waitUntilAhead(from, to);
  await activate(to, move, firstDay, {
    ...origin,
    organization_id: organizationId,
    workspace_id: null,
    action: 'organization.moved',
    target: { type: 'organization', id: organizationId },
    changes: { cell: { from: names.from, to: names.to } },
  });
}

/** Waits until the clock of the new cell is ahead of what the old cell's clock shows now. */
async function waitUntilAhead(from: Database, to: Database): Promise<void> {
  const thereMs = await readClockMs(from);
  for (;;) {
    const aheadMs = (await readClockMs(to)) - thereMs;
    if (aheadMs > 0) return;
    await delay(1 - aheadMs);
  }
}

/** Refuses a move that would stop the organization for too long. */
async function refuseRetries({ from, organizationId, retriesMax = waitingRetriesMax }: RelocationOptions) {
  const webhookId = await findExcess(from, organizationId, retriesMax);
  if (webhookId === undefined) return;
  throw new RelocationRefused(
    `More than ${retriesMax.toLocaleString('en')} deliveries of ${organizationId} are waiting for a retry. ${webhookId} has the most. Moving them would interrupt the organization for too long. Wait until they have ended, or disable the webhook, move the organization, then activate the webhook and replay what it missed.`,
  );
}

async function refuseSkew(from: Database, to: Database): Promise<void> {
  const [there, here] = await Promise.all([readClockMs(from), readClockMs(to)]);
  if (Math.abs(there - here) <= skewMsMax) return;
  throw new RelocationRefused(
    `The clocks of the two databases differ by ${Math.abs(there - here)} ms. At most ${skewMsMax} ms is accepted.`,
  );
}
