import type { Event } from '@posthorn/client';
import { type Command, sets } from '../command.js';
import { type ApiContext, apiCommand, namesConnection, printResult } from '../connection.js';
import { indentedJson } from '../json-text.js';
import { exactType, json, jsonLines, listOptions, oneOf, printList } from '../listing.js';
import { timeColumn } from '../short-time.js';
import { untilStopped } from '../stopping.js';
import type { Column } from '../table.js';
import type { Terminal } from '../terminal.js';
import { unknownType } from './types.js';

/** Reads the database instead of the API. */
export const organization = sets(
  'organization_id',
  'ORG-x',
  'For operators: read this organization from the database instead of the API, without a token.',
);
const filters = {
  organization,
  workspace: sets('workspace_id', 'WS-x', 'Only events from this workspace.'),
  type: sets('type', 'type', 'Only events of this type.', exactType),
  'subject-type': sets('subject_type', 'type', 'Only events about subjects of this type.'),
  subject: sets('subject_id', 'id', 'Only events about this subject.'),
  actor: sets('actor_id', 'id', 'Only events caused by this actor.'),
};

/** Returns whether to run the operator command: an organization is given, but no connection to the API. */
export const readsDatabase: NonNullable<Command['readsDatabase']> = (context) =>
  context.options.organization !== undefined && !namesConnection(context);

export const eventsList = apiCommand({
  name: 'events list',
  summary: 'List events.',
  options: {
    ...filters,
    order: {
      field: 'order',
      ...oneOf('desc', 'asc'),
      fallback: 'desc',
      description: 'Newest first (desc) or oldest first (asc).',
    },
    ...listOptions,
  },
  readsDatabase,
  run: async (context) => {
    const { posthorn, fields } = context;
    const organization_id = await context.organization();
    await noteUnknownType(context, fields.type);
    await printList(context, {
      list: (limit) => posthorn.events.list({ ...fields, organization_id, limit }),
      columns,
      what: 'events',
    });
  },
});

export const eventsGet = apiCommand({
  name: 'events get',
  summary: 'Show one event with its payload.',
  argument: {
    name: 'id',
    description: 'Event ID, EVT-…, or enough of its ending to be unique.',
    field: 'event_id',
  },
  options: { organization, json },
  readsDatabase,
  run: async (context) => {
    const { posthorn, fields, texts, terminal } = context;
    const event = await posthorn.events.get(fields.event_id);
    printResult(context, event, () => terminal.line(indentedJson(texts.of(event))));
  },
});

export const eventsTail = apiCommand({
  name: 'events tail',
  summary: 'Follow new events as they are recorded. Press Ctrl-C to stop.',
  options: { ...filters, json: jsonLines },
  readsDatabase,
  run: async (context) => {
    const { options, terminal, posthorn, texts, fields } = context;
    const organization_id = await context.organization();
    await noteUnknownType(context, fields.type);
    await untilStopped(context, async (signal) => {
      const onConnect = () => {
        if (terminal.isInteractive) terminal.hint(`Following ${organization_id}. Press Ctrl-C to stop.`);
      };
      const tail = posthorn.events.tail({ ...fields, organization_id }, { signal, onConnect });
      for await (const event of tail)
        terminal.line(options.json ? texts.of(event) : tailLine(event, terminal));
    });
  },
});

/** Says that a type is unknown, which is most likely a typo. It may have left the catalogue, so this is no failure. */
export async function noteUnknownType({ posthorn, terminal }: ApiContext, type?: string): Promise<void> {
  if (type === undefined) return;
  const known = await posthorn.eventTypes.list().all();
  if (!known.some((one) => one.type === type)) terminal.note(unknownType(type, known).message);
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
