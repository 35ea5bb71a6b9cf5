import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterFile } from './cleanup.js';
import { readPage, root } from './docs.js';
import type { Ended } from './process.js';
import { eventually } from './tenant.js';

/** The one block of code on a page that is in this language and has this text in it. */
export function snippet(page: string, language: string, having: string): string {
  const blocks = [...readPage(page).matchAll(/^( *)```(\w+)\n([\s\S]*?)^\1```$/gm)];
  const found = blocks.filter(([, , name, text = '']) => name === language && text.includes(having));
  const [, , , text] = found[0] ?? [];
  if (text === undefined || found.length > 1)
    throw new Error(`${page} has ${found.length} blocks of ${language} with ${JSON.stringify(having)}`);
  return text;
}

/** Secrets whose key is empty, so that anyone could sign requests. A receiver does not start with them. */
export const unusableSecrets = ['', 'whsec_...'];

/** What a receiver prints that does not start. */
export const secretDemand = "Set WEBHOOK_SECRET to the webhook's secret.\n";

/** Headers with bytes that no signature and no time has. */
export const oddHeaders = [
  { 'webhook-signature': `v1,${'é'.repeat(44)}` },
  { 'webhook-timestamp': '²' },
  { 'webhook-timestamp': '9'.repeat(5_000) },
];

/** Runs a program to its end, with nothing of our environment that could steer it. */
export function run(file: string, args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const { PATH = '', HOME = '' } = process.env;
  return new Promise((resolve) => {
    const child = execFile(file, args, { env: { PATH, HOME, ...env } }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : null;
      resolve({ code, stdout, stderr: stderr || (error?.message ?? '') });
    });
    // One that should have ended by itself must not outlive the tests.
    afterFile(() => child.kill());
  });
}

/**
 * Builds a program of Go. Not `go run`: ending that would leave the program running. On a new machine, the build compiles
 * the HTTP library of Go, and optimizing it would take 15 s of CPU.
 */
export async function buildGo(go: string, file: string, program: string): Promise<void> {
  const flags = ['-gcflags', 'all=-N -l', '-ldflags', '-s -w', '-o', program];
  const { code, stderr } = await run(go, ['build', ...flags, file]);
  if (code !== 0) throw new Error(stderr);
}

/** A program that serves until the tests of the file are over. */
export class Server {
  readonly #child: ChildProcess;
  output = '';

  constructor(file: string, args: readonly string[], env: Record<string, string>) {
    const { PATH = '', HOME = '' } = process.env;
    this.#child = spawn(file, args, { env: { PATH, HOME, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text) => {
        this.output += text;
      });
    afterFile(() => this.#child.kill());
  }

  /** Once it takes connections on this port. */
  async isListening(port: number): Promise<void> {
    await eventually(
      async () => ({ listens: await connects(port), output: this.output }),
      ({ listens }) => listens,
    );
  }
}

function connects(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/**
 * Returns a port that was free a moment ago. It is below those that systems give to connections and to servers that ask
 * for any port, so only another call of this function can take it.
 */
export async function freePort(): Promise<number> {
  const port = randomInt(10_000, 32_000);
  const server = createServer();
  const isFree = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
  return isFree ? port : freePort();
}

/** The first of these that runs this command with success, or undefined. */
export async function firstThatRuns(
  files: readonly string[],
  args: readonly string[],
): Promise<string | undefined> {
  for (const file of files) if ((await run(file, args)).code === 0) return file;
  return undefined;
}

/** A folder in which a program of TypeScript finds our packages as it would where they are installed. */
export class Workshop {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async open(): Promise<Workshop> {
    const directory = await mkdtemp(join(tmpdir(), 'posthorn-snippets-'));
    afterFile(() => rm(directory, { recursive: true, force: true }));
    await symlink(join(root, 'node_modules'), join(directory, 'node_modules'), 'dir');
    await writeFile(join(directory, 'package.json'), '{"type": "module"}');
    return new Workshop(directory);
  }

  /** Compiles programs, and returns what the compiler said about each. They are at `path(name)` then. */
  async compile<Name extends string>(programs: Record<Name, string>): Promise<Record<Name, string>> {
    const names = Object.keys(programs) as Name[];
    for (const name of names) await writeFile(join(this.#directory, `${name}.ts`), programs[name]);
    const config = {
      extends: join(root, 'tsconfig.base.json'),
      compilerOptions: { composite: false, declaration: false, sourceMap: false },
      files: names.map((name) => `${name}.ts`),
    };
    await writeFile(join(this.#directory, 'tsconfig.json'), JSON.stringify(config));
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const args = [compiler, '-p', this.path('tsconfig.json'), '--singleThreaded'];
    const { code, stdout, stderr } = await run(process.execPath, args, { GOGC: 'off' });
    const said = code === 0 ? stdout : stdout || stderr;
    // A message starts with its file, and continues on indented lines.
    const messages = said.split(/\n(?! )/).filter((message) => message !== '');
    const about = (name: Name) => messages.filter((message) => message.includes(`/${name}.ts(`));
    const others = messages.filter((message) => !names.some((name) => about(name).includes(message)));
    if (others.length > 0) throw new Error(others.join('\n'));
    return Object.fromEntries(names.map((name) => [name, about(name).join('\n')])) as Record<Name, string>;
  }

  path(file: string): string {
    return join(this.#directory, file);
  }
}
