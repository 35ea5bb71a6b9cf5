import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../config.js';
import { durationText } from '../domain/duration.js';
import { eventJson, oldestReadableMs, type StoredEvent } from '../domain/event.js';
import { idTimeMs } from '../domain/identifier.js';
import { presentPosition, readEventPage } from '../storage/event-page.js';
import { type EventFilter, readEvent } from '../storage/events.js';
import { type Command, CommandFailure, UsageError } from './command.js';
import { organizationOf, workspaceOf } from './identifier-option.js';
import { indentedJson } from './indented-json.js';
import { limitOf, limitOption, rangeOf, rangeOptions } from './listing.js';
import { shortTime } from './short-time.js';
import type { Column } from './table.js';
import type { Terminal } from './terminal.js';
import { withDatabase } from './with-database.js';

const organization = { value: 'ORG-x', description: 'The organization to read.', required: true };
const json = { description: 'Print one JSON object per line.' };
const filters = {
  organization,
  workspace: { value: 'WS-x', description: 'Only events from this workspace.' },
  type: { value: 'type', description: 'Only events of this type.' },
  'subject-type': { value: 'type', description: 'Only events about subjects of this type.' },
  subject: { value: 'id', description: 'Only events about this subject.' },
  actor: { value: 'id', description: 'Only events caused by this actor.' },
} as const;
const pollMs = 300;

export const eventsList: Command = {
  name: 'events list',
  summary: 'List events.',
  options: {
    ...filters,
    ...rangeOptions,
    order: { value: 'desc|asc', description: 'Newest first (desc) or oldest first (asc).', fallback: 'desc' },
    limit: limitOption,
    json,
  },
  run: async ({ options, config, terminal }) => {
    const limit = limitOf(options);
    const order = options.order ?? 'desc';
    if (order !== 'asc' && order !== 'desc')
      throw new UsageError(`--order: '${order}' is not valid. Expected desc or asc.`);
    const filter = filterOf(options, config);
    const page = await withDatabase(config, (database) =>
      readEventPage(database, filter, order, undefined, limit),
    );
    if (options.json) for (const event of page.rows) terminal.line(oneLine(event));
    else terminal.table(columns, page.rows);
    if (terminal.isInteractive && !options.json) {
      if (page.rows.length === 0) terminal.line('No events found.');
      if (page.hasMore)
        terminal.line(terminal.paint('dim', 'There are more events. Raise --limit or narrow the filters.'));
    }
  },
};

export const eventsGet: Command = {
  name: 'events get',
  summary: 'Show one event with its payload.',
  argument: { name: 'id', description: 'Event ID, EVT-….' },
  options: { organization, json },
  run: async ({ argument: id, options, config, terminal }) => {
    const organization_id = organizationOf(options) ?? '';
    const createdMs = idTimeMs('EVT', id);
    const event =
      createdMs === undefined
        ? undefined
        : await withDatabase(config, (database) =>
            readEvent(database, {
              id,
              organization_id,
              workspace_id: undefined,
              createdMs,
              oldestMs: oldestReadableMs(Date.now(), config.eventRetentionMs),
            }),
          );
    if (!event)
      throw new CommandFailure(
        `No event ${id} in ${organization_id}. Check both IDs. Events are kept for ` +
          `${durationText(config.eventRetentionMs)}.`,
      );
    terminal.line(options.json ? oneLine(event) : indentedJson(eventJson(event)));
  },
};

export const eventsTail: Command = {
  name: 'events tail',
  summary: 'Follow new events as they are recorded. Press Ctrl-C to stop.',
  options: { ...filters, json },
  run: async ({ options, config, terminal }) => {
    const filter = filterOf(options, config);
    const stop = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop.abort());
    await withDatabase(config, async (database) => {
      let position = await presentPosition(database, filter.organization_id);
      if (terminal.isInteractive)
        terminal.line(terminal.paint('dim', `Following ${options.organization}. Press Ctrl-C to stop.`));
      while (!stop.signal.aborted) {
        const page = await readEventPage(database, filter, 'asc', position, 100);
        position = page.next ?? position;
        for (const event of page.rows)
          terminal.line(options.json ? oneLine(event) : tailLine(event, terminal));
        if (!page.hasMore) await delay(pollMs, undefined, { signal: stop.signal }).catch(() => undefined);
      }
    });
  },
};

function filterOf(
  options: Readonly<Record<string, string | undefined>>,
  { eventRetentionMs }: Config,
): EventFilter {
  return {
    organization_id: organizationOf(options) ?? '',
    workspace_id: workspaceOf(options),
    type: options.type,
    subject_type: options['subject-type'],
    subject_id: options.subject,
    actor_id: options.actor,
    ...rangeOf(options, oldestReadableMs(Date.now(), eventRetentionMs)),
  };
}

function oneLine(event: StoredEvent): string {
  return eventJson(event).replace(/[\r\n]+/g, ' ');
}

const columns: readonly Column<StoredEvent>[] = [
  {
    title: 'time',
    of: ({ created_at }) => created_at.toISOString(),
    short: ({ created_at }) => shortTime(created_at),
  },
  { title: 'type', of: ({ type }) => type },
  { title: 'subject', of: ({ subject_id }) => subject_id, spare: 1 },
  { title: 'actor', of: ({ actor_id }) => actor_id, spare: 2 },
  { title: 'workspace', of: ({ workspace_id }) => workspace_id ?? '-', spare: 3 },
  { title: 'id', of: ({ id }) => id },
];

function tailLine(event: StoredEvent, terminal: Terminal): string {
  const time = terminal.paint('dim', event.created_at.toISOString());
  const type = terminal.paint('cyan', event.type.padEnd(28));
  const place = event.workspace_id ? ` in ${event.workspace_id}` : '';
  return `${time}  ${type}  ${event.subject_id} by ${event.actor_id}${place}  ${terminal.paint('dim', event.id)}`;
}
