import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { program } from '../../server/test/support/process.js';
import { completionScripts } from '../src/completion.js';
import { freshDirectory, linesOf, run } from './support/cli.js';

const completed = async (...words: string[]) => linesOf((await run(['__complete', ...words], {})).stdout);

const hasFish = spawnSync('fish', ['--version']).status === 0;

describe('completion', () => {
  test.each<[string[], string[]]>([
    [['web'], ['webhooks']],
    [
      ['webhooks', 'd'],
      ['delete', 'disable'],
    ],
    [
      ['token', ''],
      ['create', 'list', 'revoke'],
    ],
    [['listen', '--forw'], ['--forward-to']],
    [
      ['events', 'list', '--order', ''],
      ['asc', 'desc'],
    ],
    [['events', 'list', '--json', '--js'], []],
    [['events', 'list', '--type', 'invoice.pai'], []],
    [['listen', '--from', ''], ['now']],
    [
      ['completion', ''],
      ['bash', 'fish', 'zsh'],
    ],
  ])('completes %j', async (words, expected) => {
    expect(await completed(...words)).toEqual(expected);
  });

  test('offers the event types of the service, and no others', async () => {
    const types = createServer((_request, response) => {
      response.end(
        JSON.stringify({ data: [{ type: 'parcel.lost' }], meta: { cursor: null, has_more: false } }),
      );
    }).listen(0, '127.0.0.1');
    await once(types, 'listening');
    const POSTHORN_URL = `http://127.0.0.1:${(types.address() as AddressInfo).port}`;
    const offered = async (...words: string[]) =>
      (await run(['__complete', ...words], { POSTHORN_URL, POSTHORN_TOKEN: 'pht_x' })).stdout;
    expect(await offered('types', '')).toBe('parcel.lost\n');
    expect(await offered('events', 'list', '--type', 'par')).toBe('parcel.lost\n');
    expect(await offered('listen', '--events', 'a.b,par')).toBe('a.b,parcel.lost\n');
    expect(await offered('trigger', 'par')).toBe('parcel.lost\n');
    expect(await offered('trigger', 'parcel.lost', 'par')).toBe('');
    expect(await offered('events', 'list', '--subject-type', 'par')).toBe('');
    types.close();
  });

  test('of an unknown shell is a usage error', async () => {
    expect(await run(['completion', 'tcsh'], {})).toMatchObject({ code: 2, stdout: '' });
  });

  /** Runs a script in a shell that finds `posthorn`. */
  async function inShell(shell: string, script: string): Promise<string> {
    const directory = await freshDirectory();
    const command = join(directory, 'posthorn');
    await writeFile(command, `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`);
    await chmod(command, 0o755);
    const env = { PATH: `${directory}:${process.env.PATH}`, HOME: directory };
    return spawnSync(shell, ['-c', script], { env, encoding: 'utf8' }).stdout;
  }

  test('works in bash', async () => {
    const script = `${completionScripts.bash}\nCOMP_WORDS=(posthorn deliveries re); COMP_CWORD=2; _posthorn; echo "\${COMPREPLY[@]}"`;
    expect(await inShell('bash', script)).toBe('redeliver replay\n');
  });

  test.runIf(hasFish)(`works in fish${hasFish ? '' : ' (skipped: fish is not installed)'}`, async () => {
    const script = `${completionScripts.fish}\ncomplete -C 'posthorn deliveries re'`;
    expect(await inShell('fish', script)).toBe('redeliver\nreplay\n');
  });
});
