import { setTimeout as delay } from 'node:timers/promises';
import type { Delivery, Replay } from '@posthorn/client';
import { CommandFailure, sets, UsageError } from '../command.js';
import { type ApiContext, apiCommand, printResult } from '../connection.js';
import { EventPatterns, onlyEvents } from '../event-pattern.js';
import { uncertain } from '../failure.js';
import { json, listOf, rangeOptions } from '../listing.js';
import { progressOf } from '../polling.js';
import { utcTime } from '../short-time.js';
import type { Terminal } from '../terminal.js';

const pollMs = 400;
const barWidth = 30;
/** The service ends a replay at the newest event. The clock of this machine could be behind and leave events out. */
const endOfTime = '9999-12-31';

const webhookOption = {
  ...sets('webhook_id', 'id', 'The webhook; its description, or a unique ending of its ID, is enough.'),
  required: true,
};

export const deliveriesReplay = apiCommand({
  name: 'deliveries replay',
  summary: 'Deliver the events in a time range to a webhook again, and show the progress.',
  options: {
    webhook: webhookOption,
    from: { ...rangeOptions.from, required: true },
    to: { ...rangeOptions.to, description: `${rangeOptions.to.description} Default: now.` },
    events: sets('event_types', 'a,b', onlyEvents, listOf),
    'only-failed': {
      field: 'only_failed',
      read: () => true,
      description:
        'Only events whose latest delivery failed, or that have no delivery. A delivery that is waiting for a retry ' +
        'is attempted now, in addition to its scheduled attempts.',
    },
    wait: {
      description: 'Also wait until every event was attempted. Exits with 1 if one was not delivered.',
    },
    'no-wait': { description: 'Start the replay without waiting for it to finish.' },
    json,
  },
  run: async (context) => {
    const { options, terminal, posthorn, fields } = context;
    if (options.wait && options['no-wait']) throw new UsageError('--wait cannot be combined with --no-wait.');
    const { webhook_id: webhook, from, ...others } = fields;
    let replay = await posthorn.webhooks
      .replay(webhook, { from, to: endOfTime, ...others })
      .catch((error) => {
        const maybe = 'The replay may have been started. A second one would deliver the events twice.';
        const look = `Run posthorn deliveries list --webhook ${webhook} to see the deliveries.`;
        throw uncertain(error, deliveriesReplay, `${maybe} ${look}`);
      });
    const { id } = replay;
    const look = `posthorn replays get ${id} --webhook ${webhook}`;
    if (replay.status === 'running' && !options['no-wait']) {
      const started = `${summary(replay)} It continues even if this command ends: run ${look} to see its progress.`;
      if (options.json) terminal.note(started);
      else terminal.line(started);
    }
    while (replay.status === 'running' && !options['no-wait']) {
      terminal.status(bar(replay, terminal));
      await delay(pollMs);
      replay = await progressOf(
        terminal,
        () => posthorn.webhooks.getReplay(webhook, id),
        `The replay ${id} has started and will continue. A second one would deliver the events twice. Run ${look} to see its progress.`,
      );
    }
    printResult(context, replay, () => terminal.line(summary(replay)));
    if (replay.status === 'cancelled') throw new CommandFailure(cancellation(webhook));
    if (options.wait) await requireDelivered(context, replay);
    const next = replay.status === 'running' ? look : `posthorn deliveries list --webhook ${webhook}`;
    if (!options.json) terminal.next(next);
  },
});

export const replaysGet = apiCommand({
  name: 'replays get',
  summary: 'Show a replay: its status, and how many of its events have been queued for delivery so far.',
  argument: { name: 'id', description: 'Replay ID, RPL-…, as shown by posthorn deliveries replay.' },
  options: { webhook: webhookOption, json },
  run: async (context) => {
    const { argument, terminal, posthorn } = context;
    const webhook = context.fields.webhook_id;
    const replay = await posthorn.webhooks.getReplay(webhook, argument.toUpperCase());
    printResult(context, replay, () => {
      terminal.fields([
        ['Replay', replay.id],
        ['Webhook', webhook],
        ['Status', replay.status],
        ['Events', `${replay.done} of ${replay.total} queued`],
        ['Started', utcTime(replay.created_at)],
      ]);
      if (replay.status === 'cancelled') terminal.line(cancellation(webhook));
    });
  },
});

/** How long to wait if nothing changes: several times as long as an attempt takes. */
const stalledMsMax = 60_000;
const searchedMax = 1_000;
const searchedPagesMax = 20;

/** Waits until every delivery of a replay was attempted, and fails if one of them did not succeed. */
async function requireDelivered(
  { options, terminal, posthorn, fields }: ApiContext,
  { id, created_at }: Replay,
): Promise<void> {
  const webhook = fields.webhook_id;
  const look = `Run posthorn deliveries list --webhook ${webhook} --status failed to see why.`;
  const types = new EventPatterns(options.events);
  const wasAttempted = (delivery: Delivery) => (delivery.last_attempt_at ?? '') >= created_at;
  const search = (query: object) =>
    posthorn.deliveries
      .list({ webhook_id: webhook, limit: 100, ...query })
      .search(searchedMax, searchedPagesMax);
  let before = -1;
  let changedMs = performance.now();
  for (;;) {
    const read = () => Promise.all([posthorn.webhooks.stats(webhook), search({ final: 'false' })]);
    const [{ pending }, { data: retrying }] = await progressOf(
      terminal,
      read,
      `The replay ${id} is queued. ${look}`,
    );
    // The replay attempts these again, and makes no new deliveries of their events.
    const again = retrying.filter(
      (one) => options['only-failed'] && types.matches(one.event_type) && !wasAttempted(one),
    );
    const waiting = Math.max(0, pending - retrying.length) + again.length;
    if (waiting === 0) break;
    if (waiting !== before) changedMs = performance.now();
    else if (performance.now() - changedMs >= stalledMsMax)
      throw new CommandFailure(`${waiting} deliveries are still waiting for an attempt. ${look}`);
    before = waiting;
    terminal.status(terminal.paint('dim', `Waiting for ${waiting} deliveries…`));
    await delay(pollMs);
  }
  const { data, hasMore } = await search({ status: 'failed' });
  const missed = data.filter(wasAttempted).length;
  if (missed === 0) return;
  const count = hasMore ? `at least ${missed}` : String(missed);
  throw new CommandFailure(`Not everything was delivered: ${count} failed since the replay began. ${look}`);
}

function cancellation(webhook: string): string {
  return `The replay was canceled because the webhook is not active. Run posthorn webhooks activate ${webhook}.`;
}

function bar({ done, total }: Replay, terminal: Terminal): string {
  if (total === 0) return terminal.paint('dim', 'Looking for events…');
  const share = Math.min(1, done / total);
  const filled = Math.round(share * barWidth);
  const drawn = `${'█'.repeat(filled)}${terminal.paint('dim', '░'.repeat(barWidth - filled))}`;
  return `${drawn} ${Math.floor(share * 100)}%, ${done} of ${total} events`;
}

function summary({ id, status, done, total }: Replay): string {
  // A long range is not counted completely beforehand.
  if (status === 'running')
    return total === 0 ? `${id} is running.` : `${id} is running: ${done} of ${total} events.`;
  return `${id}: ${done} ${done === 1 ? 'event is queued' : 'events are queued'}.`;
}
