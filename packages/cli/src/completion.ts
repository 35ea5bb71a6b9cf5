import { type Command, UsageError } from './command.js';
import { commandIn } from './parser.js';

/** The name of the hidden command that the completion scripts call. */
export const completeCommand = '__complete';

/**
 * Returns what can follow the words after `posthorn`. The last word is the one that is being typed. `types` returns the
 * event types.
 */
export async function completions(
  commands: readonly Command[],
  words: readonly string[],
  types: () => Promise<{ types: readonly { type: string }[] }>,
): Promise<string[]> {
  const typed = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const command = commandIn(commands, before);
  const found = command ? argumentsOf(command, before) : commandWords(commands, before);
  const kept = /^(?!-).*,/.exec(typed)?.[0] ?? '';
  if (found.includes(eventType)) found.push(...(await types()).types.map(({ type }) => `${kept}${type}`));
  return [...new Set(found)]
    .filter(
      (word) => word !== eventType && word.startsWith(typed) && (typed !== '' || !word.startsWith('--')),
    )
    .sort();
}

/** Stands for every event type among the words that can follow. */
const eventType = '<event type>';

/** Returns the words that continue the name of a command. */
function commandWords(commands: readonly Command[], before: readonly string[]): string[] {
  return commands.flatMap(({ name }) => {
    const parts = name.split(' ');
    return before.every((word, index) => parts[index] === word) ? (parts[before.length] ?? []) : [];
  });
}

function argumentsOf({ name, options, argument }: Command, before: readonly string[]): string[] {
  const given = before.slice(name.split(' ').length);
  const last = given.at(-1) ?? '';
  const pending = last.startsWith('--') ? options[last.slice(2)] : undefined;
  if (pending?.value !== undefined)
    return ['--type', '--events'].includes(last)
      ? [eventType]
      : [...(pending.choices ?? choicesOf(pending.value))];
  const unused = Object.entries(options).filter(
    ([option, { repeats }]) => repeats || !given.includes(`--${option}`),
  );
  const named =
    argument?.name === 'type' && given.length === 0 ? [eventType] : choicesOf(argument?.name ?? '');
  return [...named, ...unused.map(([option]) => `--${option}`), '--help'];
}

/** Returns the values that a placeholder such as `desc|asc` lists. */
function choicesOf(placeholder: string): string[] {
  return placeholder.includes('|') ? placeholder.split('|') : [];
}

const shells = ['bash', 'zsh', 'fish'] as const;

/** What a shell runs to complete `posthorn …`. Without a suggestion, it completes file names. */
export const completionScripts: Readonly<Record<(typeof shells)[number], string>> = {
  bash: `_posthorn() {
  local IFS=$'\\n'
  COMPREPLY=($(posthorn ${completeCommand} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _posthorn posthorn`,
  zsh: `#compdef posthorn
_posthorn() {
  local -a found
  found=("\${(@f)$(posthorn ${completeCommand} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -- "\${found[@]}"; else _files; fi
}
compdef _posthorn posthorn`,
  fish: `function _posthorn
  set -l found (posthorn ${completeCommand} (commandline -opc)[2..] (commandline -ct) 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c posthorn -f -a '(_posthorn)'`,
};

export const completion: Command = {
  name: 'completion',
  summary: 'Print a shell completion script. To load it in bash, run: source <(posthorn completion bash)',
  argument: { name: shells.join('|'), description: 'The shell.' },
  options: {},
  run: async ({ argument, terminal }) => {
    const shell = shells.find((name) => name === argument);
    if (!shell)
      throw new UsageError(`There is no completion for '${argument}'. Expected ${shells.join(', ')}.`);
    terminal.line(completionScripts[shell]);
  },
};
