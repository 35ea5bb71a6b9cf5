import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, inject, test } from 'vitest';
import { durableDirectory, pgdataOf } from './support/data-directory.js';
import { program } from './support/process.js';

const runner = fileURLToPath(new URL('../../../faults/run.js', import.meta.url));

// The whole suite is `npm run faults`.
test.skipIf(process.platform !== 'linux')(
  'every acknowledged event arrives although service and database are killed twice; only what was in flight arrives twice',
  async () => {
    const directory = await durableDirectory();
    const result = join(directory, 'result.json');
    const child = spawn(
      process.execPath,
      [runner, '--scenario', 'short', '--seed', '1', '--result', result],
      {
        env: {
          ...process.env,
          FAULTS_PROGRAM: program,
          FAULTS_PGDATA: await pgdataOf(directory),
          TMPDIR: inject('runDirectory'),
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    const [code] = await once(child, 'close');
    expect(code, output).toBe(0);
    const { acknowledged, delivered, listed, lost, duplicates } = JSON.parse(await readFile(result, 'utf8'))
      .trials[0];
    expect(acknowledged).toBeGreaterThan(0);
    expect({ delivered, listed, lost }).toEqual({ delivered: acknowledged, listed: acknowledged, lost: 0 });
    expect(duplicates.unexplained).toBe(0);
  },
  300_000,
);
