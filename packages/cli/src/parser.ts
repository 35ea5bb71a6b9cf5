import { parseArgs } from 'node:util';
import { closest, distance } from 'fastest-levenshtein';
import { type Command, type Context, UsageError, usageLine } from './command.js';
import { commandHelp, groupHelp } from './help.js';

type Given = Pick<Context, 'options' | 'argument' | 'fields'>;
export type Parsed = { command: Command; given: Given } | { help: string };

/** Finds the command of a command line and parses the rest. Throws a UsageError if that is not possible. */
export function parse(commands: readonly Command[], argv: readonly string[], width: number): Parsed {
  const words = argv.filter((word) => word !== '--help' && word !== '-h');
  const [first = '', second] = words;
  const command = commandIn(commands, words);
  const members = commands.map(({ name }) => name).filter((name) => name.startsWith(`${first} `));
  // Without the request for help, an unknown command is a usage error.
  if (words.length < argv.length) {
    if (command) return { help: commandHelp(command, width) };
    if (members.length > 0 && second === undefined) return { help: groupHelp(commands, first, width) };
  }
  if (command) return { command, given: givenTo(command, words.slice(command.name.split(' ').length)) };
  if (members.length > 0) throw unknownIn(first, second, members);
  const suggestion = suggestionFor(
    first,
    commands.map(({ name }) => name.split(' ')[0]!),
  );
  throw new UsageError(`Unknown command '${first}'.${suggestion} Run posthorn --help to list the commands.`);
}

/** Returns the command that a command line starts with: `types generate` rather than `types`. */
export function commandIn(commands: readonly Command[], argv: readonly string[]): Command | undefined {
  const [one, two] = [argv[0], argv.slice(0, 2).join(' ')];
  return commands.find(({ name }) => name === two) ?? commands.find(({ name }) => name === one);
}

/** Returns the error for a group with a word that is not one of its subcommands, or without any. */
function unknownIn(group: string, word: string | undefined, members: readonly string[]): UsageError {
  const needs = `posthorn ${group} requires a subcommand: ${members.join(', ')}.`;
  if (word === undefined || word.startsWith('-')) return new UsageError(needs);
  const words = members.map((name) => name.slice(group.length + 1));
  // The word can be the name of an operation in the API, such as rotate-secret.
  const start = words.find((each) => word.startsWith(`${each}-`));
  const suggestion = start === undefined ? suggestionFor(word, words) : ` Did you mean ${start}?`;
  return new UsageError(`Unknown command '${group} ${word}'.${suggestion} ${needs}`);
}

/** Parses what follows the name of a command. */
function givenTo(command: Command, args: readonly string[]): Given {
  const { name: called, argument, options } = command;
  const refuse = (sentence: string) => new UsageError(`${sentence}\nUsage: ${usageLine(command)}`);
  const types = Object.entries(options).map(([name, { value }]) => {
    const type = value === undefined ? ('boolean' as const) : ('string' as const);
    return [name, { type }] as const;
  });
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(types),
    strict: false,
    tokens: true,
  });
  const words: string[] = [];
  const texts: Record<string, string> = {};
  const lists: Record<string, string[]> = {};
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName, value } = token;
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    if (!option || (option.value === undefined && value !== undefined))
      throw refuse(
        `Unknown option '${rawName}'.${suggestionFor(
          rawName,
          Object.keys(options).map((one) => `--${one}`),
        )}`,
      );
    if (option.value !== undefined && value === undefined)
      throw refuse(`Option '${rawName} <value>' requires a value.`);
    // The help shows the value of a list with a comma: `a,b`.
    if (!option.repeats && name in texts && option.value?.includes(','))
      throw new UsageError(
        `${rawName} was given more than once. Separate the values with commas: ${rawName} ${option.value}.`,
      );
    // Otherwise, the last one counts, so that a user can override what an alias or a script sets.
    texts[name] = value ?? 'true';
    if (option.repeats) lists[name] = [...(lists[name] ?? []), texts[name]];
  }
  const missing = Object.entries(options).find(([name, { required }]) => required && !(name in texts));
  if (missing) throw refuse(`posthorn ${called} requires --${missing[0]} ${missing[1].value}.`);
  if (argument && !argument.optional && words.length === 0)
    throw refuse(`posthorn ${called} requires <${argument.name}>.`);
  const surplus = words[argument ? 1 : 0];
  if (surplus !== undefined) throw refuse(`posthorn ${called}: unexpected argument '${surplus}'.`);
  const fields = Object.entries(options).flatMap(([name, { field, fallback, read = String }]) => {
    const text = texts[name] ?? fallback;
    if (text === undefined) return [];
    const value = lists[name]?.map((one) => read(one, name)) ?? read(text, name);
    return field === undefined ? [] : [[field, value] as const];
  });
  if (argument?.field !== undefined) fields.push([argument.field, words[0] ?? '']);
  return { options: texts, argument: words[0] ?? '', fields: Object.fromEntries(fields) };
}

/** Returns a suggestion for a word that is not among the known ones, or an empty text. */
export function suggestionFor(word: string, known: readonly string[]): string {
  // Computing the distance takes longer for long words.
  const wanted = word.slice(0, 200);
  const nearest = known.length === 0 ? '' : closest(wanted, known);
  const isSimilar = distance(wanted, nearest) <= Math.max(wanted.length, nearest.length) / 3;
  return isSimilar && nearest !== '' ? ` Did you mean ${nearest}?` : '';
}
