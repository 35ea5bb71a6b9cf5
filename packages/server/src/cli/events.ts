import { setTimeout as delay } from 'node:timers/promises';
import {
  type Column,
  CommandFailure,
  choiceOf,
  eventsGet,
  eventsList,
  eventsTail,
  exactTypeOf,
  indentedJson,
  isFullId,
  limitOf,
  type Options,
  onlyWithEnding,
  searched,
  shellWord,
  tailLine,
  timeColumn,
  untilStopped,
} from 'posthorn';
import { earliestReadableMs, eventJson } from '../events/event.js';
import {
  type EventFilter,
  endOfStream,
  readEvent,
  readEventPage,
  readNewestEventIds,
} from '../events/event-store.js';
import type { Database } from '../postgres/database.js';
import type { Config } from '../settings/config.js';
import type { Order, Position } from '../values/cursor.js';
import { durationText } from '../values/duration.js';
import { idTimeMs } from '../values/identifier.js';
import { requireHere } from './elsewhere.js';
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
    const rows: Listed[] = [];
    let hasMore = false;
    await withDatabase(config, async (database) => {
      await requireHere(database, filter.organization_id);
      for await (const page of pagesOf(database, filter, order, limit)) {
        hasMore = page.hasMore;
        if (options.json) for (const event of page.rows) terminal.line(oneLine(event));
        // The table does not show the payloads, and those of many pages would not fit into memory.
        else rows.push(...page.rows.map((json) => ({ ...JSON.parse(json), payload: undefined })));
      }
    });
    if (options.json) return;
    terminal.table(columns, rows);
    if (!terminal.isInteractive) return;
    if (rows.length === 0) terminal.line('No events found.');
    if (hasMore)
      terminal.line(terminal.paint('dim', 'There are more events. Raise --limit or narrow the filters.'));
  },
};

/** Yields the pages with the first `limit` events. A page of large events has fewer than it was asked for. */
async function* pagesOf(database: Database, filter: EventFilter, order: Order, limit: number) {
  let after: Position | undefined;
  for (let left = limit; left > 0; ) {
    const page = await readEventPage(database, filter, order, after, left);
    yield page;
    if (!page.hasMore) return;
    after = page.next;
    left -= page.rows.length;
  }
}

export const eventsGetCommand: OperatorCommand = {
  ...eventsGet,
  run: async ({ argument, options, config, terminal }) => {
    const organization_id = organizationOf(options) ?? '';
    const earliestMs = earliestReadableMs(Date.now(), config.eventRetentionMs);
    const { id, event } = await withDatabase(config, async (database) => {
      await requireHere(database, organization_id);
      const id = isFullId('EVT', argument)
        ? argument.toUpperCase()
        : await idWithEnding(database, argument, organization_id, earliestMs);
      const createdMs = idTimeMs('EVT', id) ?? 0;
      const key = { id, organization_id, workspace_id: undefined, createdMs, earliestMs };
      return { id, event: await readEvent(database, key) };
    });
    if (!event)
      throw new CommandFailure(
        `No event ${id} in ${organization_id}. Check both IDs. Events are kept for ` +
          `${durationText(config.eventRetentionMs)}.`,
      );
    terminal.line(options.json ? oneLine(eventJson(event)) : indentedJson(eventJson(event)));
  },
};

/** Returns the ID of the only event among the newest ones whose ID has this ending. */
async function idWithEnding(
  database: Database,
  ending: string,
  organization_id: string,
  earliestMs: number,
): Promise<string> {
  const newest = await readNewestEventIds(database, organization_id, earliestMs, searched);
  const list = `posthorn events list --organization ${shellWord(organization_id)}`;
  return onlyWithEnding('event', ending, newest, list).id;
}

export const eventsTailCommand: OperatorCommand = {
  ...eventsTail,
  run: async (context) => {
    const { options, config, terminal } = context;
    const filter = filterOf(options, config);
    await untilStopped(context, (signal) =>
      withDatabase(config, async (database) => {
        await requireHere(database, filter.organization_id);
        let position = await endOfStream(database, filter.organization_id);
        if (terminal.isInteractive)
          terminal.line(terminal.paint('dim', `Following ${options.organization}. Press Ctrl-C to stop.`));
        while (!signal.aborted) {
          const page = await readEventPage(database, filter, 'asc', position, 100);
          position = page.next ?? position;
          for (const event of page.rows)
            terminal.line(options.json ? oneLine(event) : tailLine(JSON.parse(event), terminal));
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
    type: exactTypeOf(options),
    subject_type: options['subject-type'],
    subject_id: options.subject,
    actor_id: options.actor,
    ...rangeOf(options, earliestReadableMs(Date.now(), eventRetentionMs)),
  };
}

function oneLine(json: string): string {
  return json.replace(/[\r\n]+/g, ' ');
}

type Listed = Parameters<typeof tailLine>[0];

const columns: readonly Column<Listed>[] = [
  timeColumn('time', ({ created_at }) => created_at),
  { title: 'type', of: ({ type }) => type },
  { title: 'subject', of: ({ subject }) => subject.id, spare: 1 },
  { title: 'actor', of: ({ actor }) => actor.id, spare: 2 },
  { title: 'workspace', of: ({ workspace_id }) => workspace_id ?? '-', spare: 3 },
  { title: 'id', of: ({ id }) => id },
];
