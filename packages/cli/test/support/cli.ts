import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { expect } from 'vitest';
import { afterFile } from '../../../server/test/support/cleanup.js';
import { RunningCommand } from '../../../server/test/support/command.js';
import { main } from '../../src/main.js';

export class Pipe extends Writable {
  text = '';
  isTTY = false;
  /** As wide as any line if it is 0. */
  columns = 0;

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs the integrator's command line in this process, as if @posthorn/server were not installed. */
export async function run(
  args: readonly string[],
  env: Record<string, string>,
  input = '',
  isTerminal = false,
  columns = 0,
): Promise<Ended> {
  const [stdout, stderr] = [new Pipe(), new Pipe()];
  stdout.isTTY = isTerminal;
  stdout.columns = columns;
  const stdin = Readable.from([Buffer.from(input)]);
  const code = await main(args, env, { stdin, stdout, stderr }, async () => undefined);
  return { code, stdout: stdout.text, stderr: stderr.text };
}

/** Starts a command in this process that runs until it is stopped. */
export function start(args: readonly string[], env: Record<string, string>): RunningCommand {
  return new RunningCommand((streams) => main(args, env, streams, async () => undefined));
}

/** Returns a runner for commands that must succeed. It returns what they print. */
export function printing(env: Record<string, string>): (...args: string[]) => Promise<string> {
  return async (...args) => {
    const { code, stdout, stderr } = await run(args, env);
    expect({ code, stderr }, args.join(' ')).toEqual({ code: 0, stderr: '' });
    return stdout;
  };
}

export const linesOf = (text: string) => text.split('\n').slice(0, -1);

/** Returns a directory that is removed after the tests of the file. */
export async function freshDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'posthorn-cli-'));
  afterFile(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
