import type { Event, Posthorn, TailEventsQuery } from '@posthorn/client';
import type { Command, Options } from '../command.js';
import { connect, connectionOptions, namesConnection } from '../connection.js';
import { indentedJson } from '../json-text.js';
import { choiceOf, exactTypeOf, json, jsonLines, listOptions, printList, rangeOf } from '../listing.js';
import { eventId } from '../short-id.js';
import { timeColumn } from '../short-time.js';
import { untilStopped } from '../stopping.js';
import type { Column } from '../table.js';
import type { Terminal } from '../terminal.js';
import { unknownType } from './types.js';

/** Reads the database instead of the API. */
export const organization = {
  value: 'ORG-x',
  description: 'For operators: read this organization from the database instead of the API, without a token.',
} as const;
const filters = {
  organization,
  workspace: { value: 'WS-x', description: 'Only events from this workspace.' },
  type: { value: 'type', description: 'Only events of this type.' },
  'subject-type': { value: 'type', description: 'Only events about subjects of this type.' },
  subject: { value: 'id', description: 'Only events about this subject.' },
  actor: { value: 'id', description: 'Only events caused by this actor.' },
} as const;

/** Returns whether to run the operator command: an organization is given, but no connection to the API. */
export const readsDatabase: NonNullable<Command['readsDatabase']> = (context) =>
  context.options.organization !== undefined && !namesConnection(context);

export const eventsList: Command = {
  name: 'events list',
  summary: 'List events.',
  options: {
    ...filters,
    order: { value: 'desc|asc', description: 'Newest first (desc) or oldest first (asc).', fallback: 'desc' },
    ...listOptions,
    ...connectionOptions,
  },
  readsDatabase,
  run: async (context) => {
    const { options } = context;
    const order = choiceOf(options, 'order', ['desc', 'asc']);
    const filter = filterOf(options);
    const connection = await connect(context);
    const query = {
      organization_id: await connection.organization(),
      ...filter,
      ...rangeOf(options),
      order,
    };
    await noteUnknownType(connection.posthorn, filter.type, context.terminal);
    await printList(context, connection, {
      list: (limit) => connection.posthorn.events.list({ ...query, limit }),
      columns,
      what: 'events',
    });
  },
};

export const eventsGet: Command = {
  name: 'events get',
  summary: 'Show one event with its payload.',
  argument: { name: 'id', description: 'Event ID, EVT-…, or enough of its ending to be unique.' },
  options: { organization, json, ...connectionOptions },
  readsDatabase,
  run: async (context) => {
    const connection = await connect(context);
    const event = await connection.posthorn.events.get(
      await eventId(connection, context.argument, context.options),
    );
    const text = connection.texts.of(event);
    context.terminal.line(context.options.json ? text : indentedJson(text));
  },
};

export const eventsTail: Command = {
  name: 'events tail',
  summary: 'Follow new events as they are recorded. Press Ctrl-C to stop.',
  options: { ...filters, json: jsonLines, ...connectionOptions },
  readsDatabase,
  run: async (context) => {
    const { options, terminal } = context;
    const filter = filterOf(options);
    const { posthorn, organization, texts } = await connect(context);
    const query = { organization_id: await organization(), ...filter };
    await noteUnknownType(posthorn, filter.type, terminal);
    await untilStopped(context, async (signal) => {
      const tail = posthorn.events.tail(query, {
        signal,
        onConnect: () => {
          if (terminal.isInteractive)
            terminal.line(terminal.paint('dim', `Following ${query.organization_id}. Press Ctrl-C to stop.`));
        },
      });
      for await (const event of tail)
        terminal.line(options.json ? texts.of(event) : tailLine(event, terminal));
    });
  },
};

/** Says that a type is unknown, which is most likely a typo. It may have left the catalogue, so this is no failure. */
export async function noteUnknownType(
  posthorn: Posthorn,
  type: string | undefined,
  terminal: Terminal,
): Promise<void> {
  if (type === undefined) return;
  const known = (await posthorn.eventTypes.list().all()).map((one) => one.type);
  if (!known.includes(type)) terminal.note(unknownType(type, known).message);
}

function filterOf(options: Options): Omit<TailEventsQuery, 'organization_id'> {
  return {
    workspace_id: options.workspace,
    type: exactTypeOf(options),
    subject_type: options['subject-type'],
    subject_id: options.subject,
    actor_id: options.actor,
  };
}

const columns: readonly Column<Event>[] = [
  timeColumn('time', ({ created_at }) => created_at),
  { title: 'type', of: ({ type }) => type },
  { title: 'subject', of: ({ subject }) => subject.id, spare: 1 },
  { title: 'actor', of: ({ actor }) => actor.id, spare: 2 },
  { title: 'workspace', of: ({ workspace_id }) => workspace_id ?? '-', spare: 3 },
  { title: 'id', of: ({ id }) => id },
];

/** Returns one line about an event. */
export function tailLine(event: Event, terminal: Terminal): string {
  const time = terminal.paint('dim', event.created_at);
  const type = terminal.paint('cyan', event.type.padEnd(28));
  const place = event.workspace_id ? ` in ${event.workspace_id}` : '';
  return `${time}  ${type}  ${event.subject.id} by ${event.actor.id}${place}  ${terminal.paint('dim', event.id)}`;
}
