import { main as runCommand, type Streams } from 'posthorn';

/** Runs one command line, with the commands of this package and those of the package posthorn. */
export function main(
  argv: readonly string[],
  env: Record<string, string | undefined>,
  streams: Streams = process,
): Promise<number> {
  return runCommand(
    argv,
    env,
    streams,
    async () => (await import('./operator-commands.js')).operatorCommands,
  );
}
