import { Command as Commander, CommanderError, Option as CommanderOption } from 'commander';
import { type Command, type Context, UsageError, usageLine } from './command.js';
import { commandHelp, groupHelp } from './help.js';

export type Parsed =
  | { command: Command; given: Pick<Context, 'options' | 'lists' | 'argument'> }
  | { help: string };

/** Finds the command of a command line and parses the rest. Throws a UsageError if that is not possible. */
export function parse(commands: readonly Command[], argv: readonly string[], width: number): Parsed {
  let parsed: Parsed | undefined;
  const root = quiet(new Commander('posthorn'));
  const groups = new Map<string, Commander>();
  for (const command of commands) {
    const [first = '', second] = command.name.split(' ');
    const parent = second === undefined ? root : groupOf(groups, root, first, commands);
    const child = added(parent, command, second ?? first);
    child.helpInformation = () => commandHelp(command, width);
    child.action(() => {
      parsed = { command, given: givenTo(command, child) };
    });
  }
  const [group = '', word = '-'] = argv;
  // Checked before the options, because an unknown subcommand has none.
  if (groups.has(group) && !word.startsWith('-') && !commandIn(commands, argv))
    throw unknownIn(group, word, commands);
  try {
    root.parse([...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === 'commander.helpDisplayed') {
      const words = argv.filter((word) => word !== '--help' && word !== '-h');
      const isGroup = words.length === 1 && groups.has(words[0] ?? '');
      if (isGroup || commandIn(commands, words)) return { help: helpIn(commands, words, width) };
      // Without the request for help, an unknown command is a usage error.
      return parse(commands, words, width);
    }
    throw new UsageError(messageOf(error, commands, argv));
  }
  if (!parsed) throw new UsageError(`Unknown command '${argv[0]}'.`);
  return parsed;
}

/** Returns the command that a command line starts with: `types generate` rather than `types`. */
export function commandIn(commands: readonly Command[], argv: readonly string[]): Command | undefined {
  const [one, two] = [argv[0], argv.slice(0, 2).join(' ')];
  return commands.find(({ name }) => name === two) ?? commands.find(({ name }) => name === one);
}

function quiet(commander: Commander): Commander {
  return commander
    .exitOverride()
    .configureOutput({ writeOut: () => undefined, writeErr: () => undefined })
    .helpCommand(false)
    .allowExcessArguments(false);
}

/** Returns the parent of the commands `<name> …`. Using it on its own is a usage error that lists them. */
function groupOf(
  groups: Map<string, Commander>,
  root: Commander,
  name: string,
  commands: readonly Command[],
): Commander {
  // A command such as `types` can also be a group.
  const known = groups.get(name) ?? root.commands.find((command) => command.name() === name);
  if (known) return known;
  const group = quiet(root.command(name)).allowExcessArguments(true);
  group.action(() => {
    throw unknownIn(name, group.args[0], commands);
  });
  groups.set(name, group);
  return group;
}

/** Returns the error for a group with a word that is not one of its subcommands, or without any. */
function unknownIn(group: string, word: string | undefined, commands: readonly Command[]): UsageError {
  const names = commands.map(({ name }) => name).filter((name) => name.startsWith(`${group} `));
  const needs = `posthorn ${group} requires a subcommand: ${names.join(', ')}.`;
  if (word === undefined) return new UsageError(needs);
  const words = names.map((name) => name.slice(group.length + 1));
  // The word can be the name of an operation in the API, such as rotate-secret.
  const start = words.find((each) => word.startsWith(`${each}-`));
  const suggestion = start === undefined ? suggestionFor(word, words) : ` Did you mean ${start}?`;
  return new UsageError(`Unknown command '${group} ${word}'.${suggestion} ${needs}`);
}

function added(parent: Commander, { argument, options }: Command, name: string): Commander {
  const child = quiet(parent.command(name));
  if (argument) child.argument(argument.optional ? `[${argument.name}]` : `<${argument.name}>`);
  for (const [option, { value, description, required }] of Object.entries(options)) {
    const flags = value === undefined ? `--${option}` : `--${option} <${value}>`;
    const added = new CommanderOption(flags, description).makeOptionMandatory(required === true);
    if (value !== undefined)
      added.argParser((one: string, before: string[] | undefined) => [...(before ?? []), one]);
    // `--no-…` would otherwise mean a flag that is on by default.
    added.negate = false;
    child.addOption(added);
  }
  return child;
}

function givenTo({ options }: Command, child: Commander): Pick<Context, 'options' | 'lists' | 'argument'> {
  const values: Record<string, unknown> = child.opts();
  const texts: Record<string, string | undefined> = {};
  const lists: Record<string, readonly string[]> = {};
  for (const option of child.options) {
    const name = option.long?.slice(2) ?? '';
    const value = values[option.attributeName()];
    const { repeats = false, value: shown = '' } = options[name] ?? {};
    const given = Array.isArray(value) ? value : [];
    // The help shows the value of a list with a comma: `a,b`.
    if (!repeats && given.length > 1 && shown.includes(','))
      throw new UsageError(
        `--${name} was given more than once. Separate the values with commas: --${name} ${shown}.`,
      );
    // Otherwise, the last one counts, so that a user can override what an alias or a script sets.
    if (repeats) lists[name] = given;
    else texts[name] = value === undefined ? undefined : String(given.at(-1) ?? value);
  }
  return { options: texts, lists, argument: child.args[0] ?? '' };
}

function helpIn(commands: readonly Command[], argv: readonly string[], width: number): string {
  const command = commandIn(commands, argv);
  return command ? commandHelp(command, width) : groupHelp(commands, argv[0] ?? '', width);
}

/** Rewords an error of the parser to match the other usage errors. */
function messageOf(error: CommanderError, commands: readonly Command[], argv: readonly string[]): string {
  const command = commandIn(commands, argv);
  const [, quoted = ''] = /'([^']*)'/.exec(error.message) ?? [];
  const usage = command ? `\nUsage: ${usageLine(command)}` : '';
  const suggestion = suggestionIn(error);
  switch (error.code) {
    case 'commander.unknownOption':
      return `Unknown option '${quoted}'.${suggestion}${usage}`;
    case 'commander.missingMandatoryOptionValue': {
      const missing = quoted.replaceAll(/[<>]/g, '');
      return `posthorn ${command?.name} requires ${missing}.${usage}`;
    }
    case 'commander.optionMissingArgument':
      return `Option '${quoted.replace(/<.*>/, '<value>')}' requires a value.${usage}`;
    case 'commander.missingArgument':
      return `posthorn ${command?.name} requires <${quoted}>.${usage}`;
    case 'commander.excessArguments':
      return `posthorn ${command?.name}: unexpected argument '${surplusOf(command, argv)}'.${usage}`;
    default:
      return `Unknown command '${argv[0]}'.${suggestion} Run posthorn --help to list the commands.`;
  }
}

/** Returns the suggestion of the parser, such as ` Did you mean serve?`, or an empty text. */
function suggestionIn({ message }: CommanderError): string {
  const [, hint] = /\n?\((Did you mean [^)]*)\)/.exec(message) ?? [];
  return hint === undefined ? '' : ` ${hint}`;
}

/** Returns a suggestion for a word that is not among the known ones, as for a command, or an empty text. */
export function suggestionFor(word: string, known: readonly string[]): string {
  const root = quiet(new Commander());
  for (const name of known) root.command(name);
  try {
    root.parse([word], { from: 'user' });
    return '';
  } catch (error) {
    return error instanceof CommanderError ? suggestionIn(error) : '';
  }
}

/** Returns the first word of a command line that is neither the command, nor its argument, nor an option. */
function surplusOf(command: Command | undefined, argv: readonly string[]): string {
  if (!command) return argv[0] ?? '';
  const words: string[] = [];
  const rest = argv.slice(command.name.split(' ').length);
  for (let index = 0; index < rest.length; index += 1) {
    const word = rest[index] ?? '';
    if (!word.startsWith('--')) words.push(word);
    else if (command.options[word.slice(2)]?.value !== undefined) index += 1;
  }
  return words[command.argument ? 1 : 0] ?? '';
}
