import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readConfig, settings, version } from '../../src/settings/config.js';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const known = Object.values(settings).map(({ env }) => env as string);
const settingsIn = (text: string) =>
  [...new Set(text.match(/\b(?:POSTHORN_[A-Z_]+[A-Z]|DATABASE_URL)\b/g))].filter(
    // Labels such as posthorn/api are lower case; this one is the start of several names.
    (name) => name !== 'POSTHORN',
  );

const systemd = spawnSync('systemd-analyze', ['--version']).status === 0;
if (!systemd) console.warn('systemd-analyze is not installed: the systemd unit is not verified');

describe('every packaging file', () => {
  const chart = readdirSync(join(root, 'deploy/helm/posthorn/templates')).map(
    (file) => `deploy/helm/posthorn/templates/${file}`,
  );
  it.each([
    'Dockerfile',
    'compose.yaml',
    'deploy/systemd/posthorn.service',
    'deploy/helm/posthorn/values.yaml',
    ...chart,
  ])('uses only settings that exist: %s', (file) => {
    expect(known).toEqual(expect.arrayContaining(settingsIn(read(file))));
  });

  it.each(['Dockerfile', 'deploy/systemd/posthorn.service'])('starts a program that exists: %s', (file) => {
    const [program = ''] = read(file).match(/packages\/server\/bin\/\S+?\.js/) ?? [];
    expect(existsSync(join(root, program))).toBe(true);
  });
});

describe('the image', () => {
  const dockerfile = read('Dockerfile');

  it('runs as an unprivileged user, with a health check', () => {
    const last = dockerfile.slice(dockerfile.lastIndexOf('FROM '));
    expect(last).toMatch(/^USER 1000$/m);
    expect(last).toContain('/readyz');
    expect(last.indexOf('USER 1000')).toBeLessThan(last.indexOf('ENTRYPOINT'));
  });

  it('gets nothing that belongs to one checkout', () => {
    const ignored = read('.dockerignore').split('\n');
    expect(ignored).toEqual(expect.arrayContaining(['.git', '.posthorn', '**/node_modules', '**/dist']));
  });
});

describe('compose.yaml', () => {
  const { services } = parse(read('compose.yaml'));

  it('mounts only files that exist', () => {
    const mounted = Object.values<{ volumes?: string[] }>(services)
      .flatMap(({ volumes = [] }) => volumes)
      .filter((volume) => volume.startsWith('./'))
      .map((volume) => volume.split(':')[0] ?? '');
    expect(mounted.length).toBeGreaterThan(2);
    for (const path of mounted) expect(existsSync(join(root, path)), path).toBe(true);
  });

  it('runs the service with a read-only root file system and without privileges, on loopback only', () => {
    expect(services.posthorn).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
    for (const { ports = [] } of Object.values<{ ports?: string[] }>(services))
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  it('gives the service settings that it accepts', () => {
    const environment = { ...services.posthorn.environment };
    environment.DATABASE_URL = environment.DATABASE_URL.replace(
      /\$\{POSTGRES_PASSWORD[^}]*\}/,
      'a1'.repeat(16),
    );
    environment.POSTHORN_SECRET_KEY = Buffer.alloc(32).toString('base64');
    environment.POSTHORN_PLATFORM_TOKEN = 'x'.repeat(16);
    expect(() => readConfig(environment)).not.toThrow();
  });
});

describe('the Helm chart', () => {
  const values = parse(read('deploy/helm/posthorn/values.yaml'));
  const chart = parse(read('deploy/helm/posthorn/Chart.yaml'));

  it('has the version of the service', () => {
    expect([chart.version, chart.appVersion]).toEqual([version, version]);
  });

  it('gives every role to at least one deployment', () => {
    const roles = Object.values<{ roles: string }>(values.nodes).map(({ roles }) => roles);
    const given = readConfig({ POSTHORN_ROLES: roles.join(',') }).roles;
    expect(given).toEqual(readConfig({}).roles);
  });

  // `npm run chart` renders the templates.
  it.each(readdirSync(join(root, 'deploy/helm/posthorn/templates')))(
    'has a template that uses only values that exist: %s',
    (file) => {
      const text = read(`deploy/helm/posthorn/templates/${file}`);
      for (const [, path = ''] of text.matchAll(/\.Values\.([\w.]+)/g)) {
        // The keys of the secret are the user's.
        const known = path.startsWith('secret.') ? 'secret' : path;
        const value = known.split('.').reduce((part, key) => part?.[key], values);
        expect(value, path).toBeDefined();
      }
    },
  );

  it.each(readdirSync(join(root, 'deploy/helm/values')))(
    'has values for a step of docs/scale.md that give every role to a deployment: %s',
    (file) => {
      const { nodes = values.nodes } = parse(read(`deploy/helm/values/${file}`));
      const roles = Object.values<{ roles: string }>(nodes).map(({ roles }) => roles);
      expect(readConfig({ POSTHORN_ROLES: roles.join(',') }).roles).toEqual(readConfig({}).roles);
    },
  );
});

describe.runIf(systemd)('the systemd unit', () => {
  it('is accepted by systemd', () => {
    const { status, stderr } = spawnSync(
      'systemd-analyze',
      ['verify', join(root, 'deploy/systemd/posthorn.service')],
      { encoding: 'utf8' },
    );
    // systemd also complains if the program is not installed where the unit expects it.
    const faults = stderr
      .split('\n')
      .filter((line) => line !== '' && !/not executable|Unit network/.test(line));
    expect([faults, status === 0 || faults.length === 0]).toEqual([[], true]);
  });
});
