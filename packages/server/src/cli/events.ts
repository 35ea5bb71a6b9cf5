import { setTimeout as delay } from 'node:timers/promises';
import {
  type Column,
  CommandFailure,
  choiceOf,
  eventsGet,
  eventsList,
  eventsTail,
  indentedJson,
  limitOf,
  type Options,
  shortTime,
  tailLine,
  untilStopped,
} from 'posthorn';
import type { Config } from '../config.js';
import { durationText } from '../domain/duration.js';
import { eventJson, oldestReadableMs, type StoredEvent } from '../domain/event.js';
import { idTimeMs } from '../domain/identifier.js';
import { endOfStream, readEventPage } from '../storage/event-page.js';
import { type EventFilter, readEvent } from '../storage/events.js';
import { organizationOf, workspaceOf } from './identifier-option.js';
import type { OperatorCommand } from './operator.js';
import { rangeOf } from './range-option.js';
import { withDatabase } from './with-database.js';

const pollMs = 300;

export const eventsListCommand: OperatorCommand = {
  ...eventsList,
  run: async ({ options, config, terminal }) => {
    const limit = limitOf(options);
    const order = choiceOf(options, 'order', ['desc', 'asc']) ?? 'desc';
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

export const eventsGetCommand: OperatorCommand = {
  ...eventsGet,
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

export const eventsTailCommand: OperatorCommand = {
  ...eventsTail,
  run: async (context) => {
    const { options, config, terminal } = context;
    const filter = filterOf(options, config);
    await untilStopped(context, (signal) =>
      withDatabase(config, async (database) => {
        let position = await endOfStream(database, filter.organization_id);
        if (terminal.isInteractive)
          terminal.line(terminal.paint('dim', `Following ${options.organization}. Press Ctrl-C to stop.`));
        while (!signal.aborted) {
          const page = await readEventPage(database, filter, 'asc', position, 100);
          position = page.next ?? position;
          for (const event of page.rows)
            terminal.line(options.json ? oneLine(event) : tailLine(lineOf(event), terminal));
          if (!page.hasMore) await delay(pollMs, undefined, { signal }).catch(() => undefined);
        }
      }),
    );
  },
};

function filterOf(options: Options, { eventRetentionMs }: Config): EventFilter {
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

function lineOf({ id, type, workspace_id, created_at, subject_id, actor_id }: StoredEvent) {
  return {
    id,
    type,
    workspace_id,
    created_at: created_at.toISOString(),
    subject: { type: '', id: subject_id },
    actor: { type: '', id: actor_id },
  };
}
