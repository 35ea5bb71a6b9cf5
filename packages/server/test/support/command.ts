import { once } from 'node:events';
import { Writable } from 'node:stream';
import type { Streams } from 'posthorn';
import { main } from '../../src/cli/main.js';
import { afterFile } from './cleanup.js';
import type { Ended } from './process.js';

/** Collects what a command prints into a pipe, or into a terminal of this width. */
class Output extends Writable {
  text = '';
  readonly isTTY: boolean;
  readonly columns: number;

  constructor(columns?: number) {
    super();
    this.isTTY = columns !== undefined;
    this.columns = columns ?? 0;
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    this.emit('written');
    done();
  }
}

/** Runs `posthorn …` in this process, which saves the second that a new one takes to start. */
export async function command(
  args: readonly string[],
  env: Record<string, string>,
  columns?: number,
): Promise<Ended> {
  const [stdout, stderr] = [new Output(columns), new Output(columns)];
  const code = await main(args, env, { stdout, stderr });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

/** A command that runs in this process until it is stopped. */
export class RunningCommand {
  readonly #stdout = new Output();
  readonly #stop = new AbortController();
  readonly #ended: Promise<Ended>;

  constructor(start: (streams: Streams) => Promise<number>) {
    const [stdout, stderr] = [this.#stdout, new Output()];
    this.#ended = start({ stdout, stderr, stop: this.#stop.signal }).then((code) => ({
      ...{ code, stdout: stdout.text, stderr: stderr.text },
    }));
    afterFile(() => this.stop());
  }

  /** Returns the first match in what it has printed, now or later. Fails if the command ends without it. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    const ended = this.#ended.then((ended) => {
      throw new Error(`ended without ${pattern}: ${JSON.stringify(ended)}`);
    });
    ended.catch(() => undefined);
    for (;;) {
      const match = pattern.exec(this.#stdout.text);
      if (match) return match;
      await Promise.race([once(this.#stdout, 'written'), ended]);
    }
  }

  /** Stops it as Ctrl-C would, and waits until it has ended. */
  stop(): Promise<Ended> {
    this.#stop.abort();
    return this.#ended;
  }
}
