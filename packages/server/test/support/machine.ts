import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterFile } from './cleanup.js';
import { root } from './docs.js';
import { postgresPrograms } from './postgres-programs.js';
import { program } from './process.js';
import { run, snippet } from './snippets.js';

const guide = 'docs/operate.md';

/**
 * A machine as the operator's guide describes it, in a directory: `/opt/posthorn-0.1.0` is this version,
 * `/opt/posthorn-0.2.0` is the same with one more migration, and `/opt/posthorn` leads to the first. Commands run as
 * they stand in the guide, but for the directories and the port. Both versions run the bundled program.
 */
export class Machine {
  readonly #directory: string;
  readonly #port: number;

  private constructor(directory: string, port: number) {
    this.#directory = directory;
    this.#port = port;
  }

  /** Prepares the machine, with these settings in `/etc/posthorn.env`. */
  static async prepare(port: number, settings: Record<string, string>): Promise<Machine> {
    const directory = await mkdtemp(join(tmpdir(), 'posthorn-machine-'));
    const machine = new Machine(directory, port);
    for (const part of ['opt', 'etc', 'bin']) mkdirSync(join(directory, part));
    makeVersion(join(directory, 'opt/posthorn-0.1.0'));
    makeNext(join(directory, 'opt/posthorn-0.2.0'));
    symlinkSync(join(directory, 'opt/posthorn-0.1.0'), join(directory, 'opt/posthorn'));
    const lines = Object.entries(settings).map(([name, value]) => `${name}='${value}'\n`);
    writeFileSync(join(directory, 'etc/posthorn.env'), lines.join(''));
    writeFileSync(join(directory, 'bin/systemctl'), machine.#systemctl(), { mode: 0o755 });
    writeFileSync(join(directory, 'bin/npx'), npx, { mode: 0o755 });
    afterFile(async () => {
      await machine.run('systemctl stop posthorn');
      await rm(directory, { recursive: true, force: true });
    });
    return machine;
  }

  /** Runs the block of the guide that has this text in it. Returns what it printed. */
  follow(having: string, env: Record<string, string> = {}): Promise<string> {
    return this.run(snippet(guide, 'sh', having), env);
  }

  /** Runs commands. Fails if one of them fails. */
  async run(text: string, env: Record<string, string> = {}): Promise<string> {
    const { PATH = '' } = process.env;
    const { code, stdout, stderr } = await run(
      'sh',
      ['-ec', `cd '${this.#directory}'\n${this.#here(text)}`],
      {
        ...{ PATH: `${this.#directory}/bin:${postgresPrograms}:${PATH}`, ...env },
      },
    );
    if (code !== 0) throw new Error(`${text}\nended with ${code}: ${stdout}${stderr}`);
    return stdout;
  }

  #here(text: string): string {
    return text
      .replaceAll('/opt/', `${this.#directory}/opt/`)
      .replaceAll('/etc/', `${this.#directory}/etc/`)
      .replaceAll('127.0.0.1:7400', `127.0.0.1:${this.#port}`);
  }

  /** Does what systemd does with our unit: starts its program with its settings, and stops it with SIGTERM. */
  #systemctl(): string {
    const unit = readFileSync(join(root, 'deploy/systemd/posthorn.service'), 'utf8');
    const [, settings, program] =
      /^EnvironmentFile=(\S+)\nExecStart=\/usr\/bin\/node (.+)$/m.exec(unit) ?? [];
    return this.#here(`#!/bin/sh -e
pid='${this.#directory}/pid'
if [ "$1" != start ] && [ -f "$pid" ]; then
  kill -TERM "$(cat "$pid")"
  while kill -0 "$(cat "$pid")" 2>/dev/null; do sleep 0.05; done
  rm "$pid"
fi
if [ "$1" = stop ]; then exit; fi
set -a; . ${settings}; set +a
'${process.execPath}' ${program} >> '${this.#directory}/log' 2>&1 < /dev/null &
echo $! > "$pid"
`);
  }
}

/** Does what npx does with an installed program: runs that of the directory it is called in. */
const npx = `#!/bin/sh
program="$1"; shift
exec "node_modules/.bin/$program" "$@"
`;

/** Makes a version: this one, whose program is the bundle. */
function makeVersion(directory: string): void {
  const server = join(directory, 'packages/server');
  mkdirSync(join(server, 'bin'), { recursive: true });
  const start = `process.env.BUNDLE_HOME = '${directory}';\nawait import('${program}');\n`;
  writeFileSync(join(server, 'bin/posthorn.js'), `#!/usr/bin/env node\n${start}`, { mode: 0o755 });
  for (const part of ['schema', 'assets', 'catalogue.json', 'lifecycles.json', 'package.json'])
    cpSync(join(root, 'packages/server', part), join(server, part), { recursive: true });
  for (const name of ['cli', 'client', 'console', 'demo', 'embedded', 'receiver'])
    symlinkSync(join(root, 'packages', name), join(directory, 'packages', name));
  const programs = join(directory, 'node_modules/.bin');
  mkdirSync(programs, { recursive: true });
  symlinkSync('../../packages/server/bin/posthorn.js', join(programs, 'posthorn'));
}

/** Makes the next version, with a migration, a changed function and the next revision. */
function makeNext(directory: string): void {
  makeVersion(directory);
  const schema = join(directory, 'packages/server/schema');
  mkdirSync(join(schema, 'migrations'), { recursive: true });
  writeFileSync(
    join(schema, 'migrations/9999_next.sql'),
    'alter table posthorn.events add column next text;\nalter table posthorn.deliveries add column next text;\n',
  );
  const settle = join(schema, 'functions/settle.sql');
  writeFileSync(settle, `${readFileSync(settle, 'utf8')}\n-- The next version.\n`);
  const revision = join(schema, 'revision');
  writeFileSync(revision, `${Number(readFileSync(revision, 'utf8')) + 1}\n`);
}
