import { type Command, UsageError } from '../command.js';
import { completionScripts, shells } from '../completion.js';

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
