import type { List } from '@posthorn/client';
import { invalid, type Options, sets, shellWord } from './command.js';
import type { ApiContext } from './connection.js';
import { utcTime } from './short-time.js';
import type { Column } from './table.js';

export const instant =
  'a date (a day in UTC), a time with Z or an offset, or how long ago, such as 1h or 7d.';
/** Options for every list with a time range and a limit. */
export const rangeOptions = {
  from: sets('from', 'time', `Start of the time range, inclusive: ${instant}`, instantOf),
  to: sets('to', 'time', `End of the time range, inclusive: ${instant}`, instantOf),
} as const;
export const limitOption = {
  value: 'n',
  description: 'Maximum number of results, 1 to 1000.',
  fallback: '25',
} as const;
export const jsonLines = { description: 'Print one JSON object per line.' } as const;
/** Options for every list with a time range. */
export const listOptions = { ...rangeOptions, limit: limitOption, json: jsonLines } as const;
export const json = { description: 'Print JSON.' } as const;

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns a time as the API accepts it. A length of time such as `1h` means that long ago. */
export function instantOf(text: string): string {
  const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  if (count === undefined) return text;
  return new Date(Math.max(0, Date.now() - Number(count) * (unitMs[unit] ?? 0))).toISOString();
}

export function limitOf(options: Options): number {
  const limit = Number(options.limit ?? limitOption.fallback);
  if (Number.isInteger(limit) && limit >= 1 && limit <= 1000) return limit;
  throw invalid('limit', options.limit, 'a whole number from 1 to 1000');
}

/** Returns the values of an option that takes several, separated by commas. */
export function listOf(text: string): string[] {
  return text.split(',').map((part) => part.trim());
}

// British English has no comma before the last item.
const alternatives = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/** Returns the part of an option that accepts one of these values. */
export function oneOf<Choice extends string>(...choices: readonly Choice[]) {
  return {
    value: choices.join('|'),
    read: (text: string, option: string): Choice => {
      const choice = choices.find((each) => each === text);
      if (choice === undefined) throw invalid(option, text, alternatives.format(choices));
      return choice;
    },
  };
}

/** Returns the event type to filter by. A pattern would match nothing, because a filter compares the whole type. */
export function exactType(type: string, option: string): string {
  if (!type.includes('*')) return type;
  const look = `Run posthorn types ${shellWord(type)} to see the event types that match it`;
  throw invalid(option, type, `one event type: lists cannot be filtered by a pattern. ${look}`);
}

const pageMax = 100;

interface Listed<Row> {
  list: (limit: number) => List<Row>;
  columns: readonly Column<Row>[];
  what: string;
  /** Returns a line to print below the table, for people. */
  noteOn?: (rows: readonly Row[]) => string | undefined;
}

/** Prints the first results of a list: a table on a terminal, JSON lines with `--json`. */
export async function printList<Row extends object>(
  { options, terminal, texts }: ApiContext,
  { list, columns, what, noteOn }: Listed<Row>,
): Promise<void> {
  const limit = limitOf(options);
  const shown: Row[] = [];
  let found = 0;
  for await (const { data, searchedTo } of list(Math.min(pageMax, limit + 1)).pages()) {
    const rows = data.slice(0, limit - found);
    // Printed at once: the events of many pages may not fit into memory.
    if (options.json) for (const row of rows) terminal.line(texts.of(row));
    else shown.push(...rows);
    found += data.length;
    if (found > limit) break;
    // The page ended before it was full.
    if (found < limit && searchedTo !== undefined)
      terminal.status(
        terminal.paint('dim', `Searching… No other ${what} found since ${utcTime(searchedTo)}.`),
      );
  }
  if (options.json) return;
  if (shown.length > 0 || !terminal.isInteractive) terminal.table(columns, shown);
  if (!terminal.isInteractive) return;
  if (shown.length === 0) terminal.line(`No ${what} found.`);
  const note = noteOn?.(shown);
  if (note !== undefined) terminal.hint(note);
  if (found > limit) terminal.hint(`There are more ${what}. Raise --limit or narrow the filters.`);
}

/** Returns an organization as people read it: its display name, if it has one, and its ID. */
export function organizationText(id: string, name: string | null | undefined): string {
  return name ? `${name} (${id})` : id;
}
