import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterFile } from './cleanup.js';

export const program = fileURLToPath(new URL('../../bin/posthorn.js', import.meta.url));

export interface Ended {
  /** Null where a signal ended it. */
  code: number | null;
  stdout: string;
  stderr: string;
}

type Environment = Record<string, string>;

/** A `posthorn …` of its own process, with nothing of our environment that could steer it. */
export class Posthorn {
  readonly #child: ChildProcess;
  readonly #ended: Promise<Ended>;
  #stdout = '';
  #stderr = '';
  #heard: () => void = () => undefined;

  constructor(args: readonly string[], env: Environment, command: readonly string[] = [process.execPath]) {
    const { PATH = '', HOME = '', TMPDIR } = process.env;
    const [file = '', ...before] = command;
    this.#child = spawn(file, [...before, program, ...args], {
      env: { PATH, HOME, ...(TMPDIR !== undefined && { TMPDIR }), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text) => {
      this.#stdout += text;
      this.#heard();
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text) => {
      this.#stderr += text;
    });
    this.#ended = new Promise((resolve) => {
      this.#child.once('close', (code) => {
        resolve({ code, stdout: this.#stdout, stderr: this.#stderr });
      });
    });
    afterFile(async () => {
      this.kill('SIGKILL');
      await this.#ended;
    });
  }

  get ended(): Promise<Ended> {
    return this.#ended;
  }

  /** The first match in what it has printed, now or later; fails where it ends without. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    let over = false;
    void this.#ended.then(() => {
      over = true;
      this.#heard();
    });
    for (;;) {
      const match = pattern.exec(this.#stdout);
      if (match) return match;
      if (over) throw new Error(`ended without ${pattern}:\n${this.#stdout}\n${this.#stderr}`);
      await new Promise<void>((heard) => {
        this.#heard = heard;
      });
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}

/** Runs one command to its end. */
export function posthorn(args: readonly string[], env: Environment): Promise<Ended> {
  return new Posthorn(args, env).ended;
}

/** A `posthorn serve` on free ports, once it is ready. */
export async function serve(
  env: Environment,
): Promise<{ process: Posthorn; publicUrl: string; platformUrl: string }> {
  const service = new Posthorn(['serve'], { POSTHORN_PORT: '0', POSTHORN_PLATFORM_PORT: '0', ...env });
  const [, publicUrl = ''] = await service.until(/public API listening on (http:[^"\s]+)/);
  const [, platformUrl = ''] = await service.until(/platform listener listening on (http:[^"\s]+)/);
  return { process: service, publicUrl, platformUrl };
}
