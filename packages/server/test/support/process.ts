import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { afterFile } from './cleanup.js';

/** The program as users run it. */
export const installedProgram = fileURLToPath(new URL('../../bin/posthorn.js', import.meta.url));
/** The same program in one bundle, which starts with half the CPU. */
export const program = inject('bundledProgram');

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

  constructor(args: readonly string[], env: Environment, command = [process.execPath, program]) {
    const { PATH = '', HOME = '', TMPDIR } = process.env;
    const [file = '', ...before] = command;
    this.#child = spawn(file, [...before, ...args], {
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
export function posthorn(args: readonly string[], env: Environment, command?: string[]): Promise<Ended> {
  return new Posthorn(args, env, command).ended;
}

/** Runs one command to its end, with a full disk behind its standard output. */
export function posthornOnFullDisk(args: readonly string[], env: Environment): Promise<Ended> {
  return posthorn(args, env, ['sh', '-c', 'exec "$0" "$@" > /dev/full', process.execPath, program]);
}

/** A `posthorn serve` on free ports, once it is ready. */
export async function serve(
  env: Environment,
  command?: string[],
): Promise<{ process: Posthorn; publicUrl: string; platformUrl: string }> {
  const ports = { POSTHORN_PORT: '0', POSTHORN_PLATFORM_PORT: '0' };
  const service = new Posthorn(['serve'], { ...ports, ...env }, command);
  const [, publicUrl = ''] = await service.until(/public API listening on (http:[^"\s]+)/);
  const [, platformUrl = ''] = await service.until(/platform listener listening on (http:[^"\s]+)/);
  return { process: service, publicUrl, platformUrl };
}
