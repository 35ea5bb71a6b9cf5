import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterFile } from '../test/support/cleanup.js';
import type { Ended } from '../test/support/process.js';
import { run } from '../test/support/snippets.js';

/** A directory of a user, with nothing in it. */
export class Project {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async open(): Promise<Project> {
    const directory = await mkdtemp(join(tmpdir(), 'posthorn-published-'));
    afterFile(() => rm(directory, { recursive: true, force: true }));
    return new Project(directory);
  }

  get directory(): string {
    return this.#directory;
  }

  shell(script: string, env: Record<string, string> = {}, args: readonly string[] = []): Promise<Ended> {
    const settings = { npm_config_audit: 'false', npm_config_fund: 'false', ...env };
    return run('sh', ['-c', `cd '${this.#directory}' && ${script}`, 'sh', ...args], settings);
  }

  /** Starts a program in the directory. */
  start(script: string, env: Record<string, string> = {}): Program {
    return new Program(this.#directory, script, env);
  }

  async write(file: string, text: string): Promise<void> {
    await writeFile(join(this.#directory, file), text);
  }

  /** The packages that are installed, with their scope. */
  async packages(): Promise<string[]> {
    const modules = join(this.#directory, 'node_modules');
    const names = (await readdir(modules)).filter((name) => !name.startsWith('.'));
    const scoped = names.filter((name) => name.startsWith('@'));
    const inside = await Promise.all(
      scoped.map(async (scope) => (await readdir(join(modules, scope))).map((name) => `${scope}/${name}`)),
    );
    return [...names.filter((name) => !name.startsWith('@')), ...inside.flat()].sort();
  }
}

/** A program that runs until it is stopped, or until the tests of the file are over. */
export class Program {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  output = '';

  constructor(directory: string, script: string, env: Record<string, string>) {
    const { PATH = '', HOME = '' } = process.env;
    // A group of its own: npx starts the program as another process.
    this.#child = spawn('sh', ['-c', script], {
      ...{ cwd: directory, env: { PATH, HOME, ...env }, stdio: ['ignore', 'pipe', 'pipe'], detached: true },
    });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text) => {
        this.output += text;
      });
    this.#ended = new Promise((resolve) => this.#child.once('close', resolve));
    afterFile(() => this.stop());
  }

  async stop(): Promise<void> {
    const { exitCode, signalCode, pid } = this.#child;
    if (exitCode === null && signalCode === null && pid !== undefined) process.kill(-pid, 'SIGTERM');
    await this.#ended;
  }
}

/**
 * What npm warns about: engines, deprecations, peers. Not the settings of this machine, and not the install script of
 * the embedded PostgreSQL, which the service does without.
 */
export const warnings = ({ stderr }: Ended) =>
  stderr.split('\n').filter((line) => /^npm warn (?!Unknown user config|install-scripts)/i.test(line));
