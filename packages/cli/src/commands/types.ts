import { writeFile } from 'node:fs/promises';
import type { CallOptions, EventType } from '@posthorn/client';
import { CommandFailure, type Context } from '../command.js';
import { apiCommand, connect } from '../connection.js';
import { EventPatterns } from '../event-pattern.js';
import { indentedJson } from '../json-text.js';
import { jsonLines } from '../listing.js';
import { suggestionFor } from '../parser.js';
import { typesFile } from '../type-source.js';

export const types = apiCommand({
  name: 'types',
  summary: 'List the event types, or show one with the schema and a sample of its payload.',
  argument: { name: 'type', description: 'An event type, or a domain (domain.*).', optional: true },
  options: { json: jsonLines },
  run: async ({ argument, options, terminal, posthorn, texts }) => {
    const all = await posthorn.eventTypes.list().all();
    const patterns = new EventPatterns(argument);
    const wanted = all.filter(({ type }) => patterns.matches(type));
    if (wanted.length === 0) throw unknownType(argument, all);
    if (options.json) for (const type of wanted) terminal.line(texts.of(type));
    else if (patterns.onlyType !== undefined) terminal.line(indentedJson(texts.of(wanted[0]!)));
    else
      terminal.table(
        [
          { title: 'type', of: ({ type }) => type },
          { title: 'description', of: ({ description }) => description, spare: 1, cuts: true },
        ],
        wanted,
      );
  },
});

/** Returns the event types of the service. By default, it has a second to respond. */
export async function servedTypes(
  context: Context,
  call: CallOptions = { signal: AbortSignal.timeout(1_000) },
) {
  const { posthorn, texts } = await connect(context);
  const types = await posthorn.eventTypes.list(call).all();
  return { types, texts };
}

export const typesGenerate = apiCommand({
  name: 'types generate',
  summary:
    "Write TypeScript types of the catalogue's events. A program that imports the file has typed producers and receivers.",
  options: {
    out: { value: 'file', description: 'The file to write, such as src/posthorn-types.ts.', required: true },
  },
  run: async ({ options: { out: file = '' }, terminal, posthorn }) => {
    const all = await posthorn.eventTypes.list().all();
    await writeFile(file, typesFile(all)).catch((error: Error) => {
      throw new CommandFailure(`The file cannot be written: ${error.message}.`);
    });
    terminal.line(`Wrote ${all.length} event types to ${file}.`);
  },
});

/** Returns the failure for a type that is not among the known ones. */
export function unknownType(type: string, known: readonly EventType[]): CommandFailure {
  const suggestion = suggestionFor(
    type,
    known.map((one) => one.type),
  );
  return new CommandFailure(
    `There is no event type '${type}'.${suggestion} Run posthorn types to list all types.`,
  );
}
