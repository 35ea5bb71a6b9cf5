import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { afterFile } from '../../server/test/support/cleanup.js';
import { sharedService } from '../../server/test/support/service.js';
import { run, snippet } from '../../server/test/support/snippets.js';
import { newTenant } from '../../server/test/support/tenant.js';

const readme = 'packages/client/README.md';

describe('the package, packed and installed into an empty directory', async () => {
  const service = await sharedService();
  const directory = await mkdtemp(join(tmpdir(), 'posthorn-client-'));
  afterFile(() => rm(directory, { recursive: true, force: true }));

  beforeAll(async () => {
    await writeFile(join(directory, 'package.json'), '{"private":true,"type":"module"}');
    const source = fileURLToPath(new URL('..', import.meta.url));
    // Packs the package and installs what was packed.
    const flags = ['--install-links', '--ignore-scripts', '--offline', '--no-audit', '--no-fund'];
    const installed = await run('npm', ['--prefix', directory, 'install', ...flags, source]);
    expect(installed.code, installed.stderr).toBe(0);
  });

  it('has its readme and license, nothing but code and types, and brings no other package', async () => {
    const place = join(directory, 'node_modules/@posthorn/client');
    expect((await readdir(place)).sort()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json']);
    for (const name of await readdir(join(place, 'dist'))) expect(name).toMatch(/\.(js|d\.ts)$/);
    const packages = await readdir(join(directory, 'node_modules'));
    expect(packages.filter((name) => !name.startsWith('.'))).toEqual(['@posthorn']);
  });

  it('runs the first example of the readme', async () => {
    const tenant = await newTenant(service);
    const recorded = await tenant.record({ subject: { type: 'invoice', id: 'INV-readme' } });
    const file = join(directory, 'first.js');
    await writeFile(file, snippet(readme, 'js', 'posthorn.events.list'));
    const { code, stdout, stderr } = await run(process.execPath, [file], {
      ...{ POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: tenant.token },
    });
    expect(code, stderr).toBe(0);
    expect(stdout.trim()).toBe(`${recorded.created_at} invoice.paid INV-readme`);
  });
});
