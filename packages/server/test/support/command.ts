import { Writable } from 'node:stream';
import { main } from '../../src/cli/main.js';
import type { Ended } from './process.js';

/** Collects what a command prints into a pipe. */
class Pipe extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

/** Runs `posthorn …` in this process, which saves the second that a new one takes to start. */
export async function command(args: readonly string[], env: Record<string, string>): Promise<Ended> {
  const [stdout, stderr] = [new Pipe(), new Pipe()];
  const code = await main(args, env, { stdout, stderr });
  return { code, stdout: stdout.text, stderr: stderr.text };
}
