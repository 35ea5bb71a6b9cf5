import { setTimeout as delay } from 'node:timers/promises';
import type { Replay } from '@posthorn/client';
import { type Command, CommandFailure } from '../command.js';
import { connect, connectionOptions } from '../connection.js';
import { json, listOf, rangeOf, rangeOptions } from '../listing.js';
import { progressOf } from '../polling.js';
import { webhookId } from '../short-id.js';
import { utcTime } from '../short-time.js';
import type { Terminal } from '../terminal.js';
import { uncertain } from '../uncertain.js';

const pollMs = 400;
const barWidth = 30;
/** The service ends a replay at the newest event. The clock of this machine could be behind and leave events out. */
const endOfTime = '9999-12-31';

const webhookOption = {
  value: 'id',
  description: 'The webhook; its description, or a unique ending of its ID, is enough.',
  required: true,
} as const;

export const deliveriesReplay: Command = {
  name: 'deliveries replay',
  summary: 'Deliver the events in a time range to a webhook again, and show the progress.',
  options: {
    webhook: webhookOption,
    from: { ...rangeOptions.from, required: true },
    to: { ...rangeOptions.to, description: `${rangeOptions.to.description} Default: now.` },
    events: {
      value: 'a,b',
      description: 'Only these event types or domains (invoice.*), separated by commas.',
    },
    'only-failed': {
      description:
        'Only events whose latest delivery failed, or that have no delivery. A delivery that is waiting for a retry ' +
        'is attempted now, in addition to its scheduled attempts.',
    },
    'no-wait': { description: 'Start the replay without waiting for it to finish.' },
    json,
    ...connectionOptions,
  },
  run: async (context) => {
    const { options, terminal } = context;
    const connection = await connect(context);
    const { posthorn, texts } = connection;
    const webhook = await webhookId(connection, options.webhook ?? '');
    const range = rangeOf(options);
    const request = {
      from: range.from ?? '',
      to: range.to ?? endOfTime,
      ...(options.events !== undefined && { event_types: listOf(options.events) }),
      ...(options['only-failed'] && { only_failed: true }),
    };
    let replay = await posthorn.webhooks.replay(webhook, request).catch((error) => {
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
    if (options.json) terminal.line(texts.of(replay));
    else terminal.line(summary(replay));
    if (replay.status === 'cancelled') throw new CommandFailure(cancellation(webhook));
    const next = replay.status === 'running' ? look : `posthorn deliveries list --webhook ${webhook}`;
    if (terminal.isInteractive && !options.json) terminal.line(terminal.paint('dim', `Next: ${next}`));
  },
};

export const replaysGet: Command = {
  name: 'replays get',
  summary: 'Show a replay: its status, and how many of its events have been queued for delivery so far.',
  argument: { name: 'id', description: 'Replay ID, RPL-…, as shown by posthorn deliveries replay.' },
  options: { webhook: webhookOption, json, ...connectionOptions },
  run: async (context) => {
    const { argument, options, terminal } = context;
    const connection = await connect(context);
    const webhook = await webhookId(connection, options.webhook ?? '');
    const replay = await connection.posthorn.webhooks.getReplay(webhook, argument.toUpperCase());
    if (options.json) {
      terminal.line(connection.texts.of(replay));
      return;
    }
    terminal.fields([
      ['Replay', replay.id],
      ['Webhook', webhook],
      ['Status', replay.status],
      ['Events', `${replay.done} of ${replay.total} queued`],
      ['Started', utcTime(new Date(replay.created_at))],
    ]);
    if (replay.status === 'cancelled') terminal.line(cancellation(webhook));
  },
};

function cancellation(webhook: string): string {
  return `The replay was canceled because the webhook is not active. Run posthorn webhooks activate ${webhook}.`;
}

function bar({ done, total }: Replay, terminal: Terminal): string {
  const share = total === 0 ? 0 : Math.min(1, done / total);
  const filled = Math.round(share * barWidth);
  const drawn = `${'█'.repeat(filled)}${terminal.paint('dim', '░'.repeat(barWidth - filled))}`;
  return `${drawn} ${Math.floor(share * 100)}%, ${done} of ${total} events`;
}

function summary({ id, status, done, total }: Replay): string {
  if (status === 'running') return `${id} is running: ${done} of ${total} events.`;
  return `${id}: ${done} ${done === 1 ? 'event is queued' : 'events are queued'}.`;
}
