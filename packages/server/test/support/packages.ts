import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterFile } from './cleanup.js';
import { root } from './docs.js';
import { run } from './snippets.js';

interface Manifest {
  name: string;
  private?: boolean;
  bin?: Record<string, string>;
  exports?: Record<string, unknown>;
  engines?: { node?: string };
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

export interface Packed {
  manifest: Manifest;
  /** Its directory in the checkout. */
  source: string;
  /** What a user gets, by path. */
  files: string[];
  tarball: string;
}

/** Returns every package of the repository that can be published. */
function publishable(): { manifest: Manifest; source: string }[] {
  return readdirSync(join(root, 'packages'))
    .map((name) => join(root, 'packages', name))
    .map((source) => ({ source, manifest: JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) }))
    .filter(({ manifest }) => !manifest.private);
}

/** Packs every package as `npm publish` would, without building it again. Returns them by name. */
export async function packAll(): Promise<ReadonlyMap<string, Packed>> {
  const directory = await mkdtemp(join(tmpdir(), 'posthorn-packages-'));
  afterFile(() => rm(directory, { recursive: true, force: true }));
  const ours = publishable();
  const flags = ['--prefix', root, '--json', '--ignore-scripts', '--pack-destination', directory];
  const names = ours.flatMap(({ source }) => ['--workspace', source]);
  const { code, stdout, stderr } = await run('npm', ['pack', ...flags, ...names]);
  if (code !== 0) throw new Error(stderr);
  const packed = JSON.parse(stdout) as { name: string; filename: string; files: { path: string }[] }[];
  return new Map(
    ours.map(({ manifest, source }) => {
      const found = packed.find(({ name }) => name === manifest.name);
      if (!found) throw new Error(`npm packed nothing for ${manifest.name}`);
      const files = found.files.map(({ path }) => path);
      return [manifest.name, { manifest, source, files, tarball: join(directory, found.filename) }];
    }),
  );
}

/** Returns the package and those of ours that it needs, itself first. */
export function withOurDependencies(all: ReadonlyMap<string, Packed>, name: string): Packed[] {
  const found = new Map<string, Packed>();
  const visit = (one: string): void => {
    const packed = all.get(one);
    if (!packed || found.has(one)) return;
    found.set(one, packed);
    for (const dependency of Object.keys(packed.manifest.dependencies ?? {})) visit(dependency);
  };
  visit(name);
  return [...found.values()];
}
