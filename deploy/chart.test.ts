import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

/**
 * Renders the chart with Helm and validates the manifests against the schemas of Kubernetes. Part of `npm run chart`,
 * not of `npm test`: if Helm is missing, it is built from its Go module, which takes some minutes the first time, and
 * the schemas come from a Python package.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const chart = join(root, 'deploy/helm/posthorn');
const tools = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'posthorn-tools');
const kubernetes = '1.34.0';

function run(
  program: string,
  args: readonly string[],
  options: { env?: object; input?: string } = {},
): string {
  const ended = spawnSync(program, args, {
    encoding: 'utf8',
    ...options,
    env: { ...process.env, ...options.env },
    maxBuffer: 64 * 1024 * 1024,
  });
  if (ended.status !== 0) throw new Error(`${program} ${args.join(' ')}\n${ended.stdout}${ended.stderr}`);
  return ended.stdout;
}

function findHelm(): string {
  if (spawnSync('helm', ['version']).status === 0) return 'helm';
  const built = join(tools, 'helm');
  if (!existsSync(built)) {
    console.log('Helm is not installed. Building it from its Go module takes some minutes …');
    run('go', ['install', 'helm.sh/helm/v3/cmd/helm@v3.22.0'], { env: { GOBIN: tools } });
  }
  return built;
}

function findValidator(): string {
  const program = join(tools, 'python/bin/kubernetes-validate');
  if (!existsSync(program)) {
    console.log('Installing the schemas of Kubernetes (the Python package kubernetes-validate) …');
    run('python3', ['-m', 'venv', join(tools, 'python')]);
    run(join(tools, 'python/bin/pip'), ['install', '--quiet', 'kubernetes-validate']);
  }
  return program;
}

mkdirSync(tools, { recursive: true });
const helm = findHelm();
const validator = findValidator();

interface Manifest {
  kind: string;
  metadata: { name: string; annotations?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: the schemas check it.
  spec: any;
  data?: Record<string, string>;
}

const render = (...args: string[]): Manifest[] =>
  parseAllDocuments(run(helm, ['template', 'posthorn', chart, ...args]))
    .map((document) => document.toJSON())
    .filter((manifest) => manifest !== null);

/** The schemas do not know what the Prometheus operator adds. */
const isBuiltIn = ({ kind }: Manifest) => !['ServiceMonitor', 'PrometheusRule'].includes(kind);

const stages = readdirSync(join(root, 'deploy/helm/values'));
const everything = [
  '--set=ingress.enabled=true,ingress.className=nginx,ingress.tlsSecret=tls,monitoring.enabled=true,cell=east',
  '--set=autoscaling.enabled=true,image.pullSecrets={registry},env.POSTHORN_LOG_LEVEL=warn,podLabels.team=a',
  '--set=nodeSelector.disk=ssd,existingSecret=,secret.DATABASE_URL=postgres://db/posthorn,secret.POSTHORN_SECRET_KEY=k',
  '--set=secret.POSTHORN_PLATFORM_TOKEN=t,podAnnotations.note=x',
  '--set-json=tolerations=[{"key":"a","operator":"Exists"}]',
  '--set-json=affinity={"podAntiAffinity":{}}',
  `--set-file=files.catalogue=${join(root, 'package.json')},files.logo=${join(root, 'packages/server/assets/posthorn.svg')}`,
  `--set-file=files.certificates=${join(root, 'packages/server/test/fixtures/receiver.cert.pem')}`,
];
const variants: [string, string[]][] = [
  ['its own values', []],
  ['everything set', everything],
  ...stages.map((file): [string, string[]] => [file, ['-f', join(root, 'deploy/helm/values', file)]]),
];

describe.each(variants)('the chart with %s', (_name, args) => {
  it('passes helm lint --strict', () => {
    expect(run(helm, ['lint', '--strict', chart, ...args])).toContain('0 chart(s) failed');
  });

  it(`renders manifests that Kubernetes ${kubernetes} accepts`, () => {
    const manifests = render(...args).filter(isBuiltIn);
    expect(manifests.length).toBeGreaterThan(4);
    const file = join(tools, 'manifests.json');
    for (const manifest of manifests) {
      writeFileSync(file, JSON.stringify(manifest));
      run(validator, ['--strict', '-k', kubernetes, file]);
    }
  });
});

describe('the chart', () => {
  it('restarts the nodes when the secret or a file changes, and only then', () => {
    const checksums = (...args: string[]) =>
      render(...everything, ...args)
        .filter(({ kind }) => kind === 'Deployment')
        .map(({ spec }) => spec.template.metadata.annotations);
    const before = checksums();
    expect(checksums()).toEqual(before);
    expect(checksums('--set=secret.POSTHORN_PLATFORM_TOKEN=other')).not.toEqual(before);
    expect(checksums(`--set-file=files.catalogue=${join(root, 'tsconfig.json')}`)).not.toEqual(before);
  });

  it('mounts the files of its values, and tells every node where they are', () => {
    const manifests = render(...everything);
    const { data } = manifests.find(({ kind }) => kind === 'ConfigMap')!;
    expect(Object.keys(data!).sort()).toEqual(['catalogue.json', 'certificates.pem', 'logo.svg']);
    const pods = manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'Job');
    expect(pods).toHaveLength(3);
    for (const { spec } of pods) {
      const [container] = spec.template.spec.containers;
      const env = Object.fromEntries(
        container.env.map(({ name, value }: Record<string, string>) => [name, value]),
      );
      expect(env).toMatchObject({
        POSTHORN_CATALOGUE: '/etc/posthorn/catalogue.json',
        POSTHORN_PORTAL_LOGO: '/etc/posthorn/logo.svg',
        NODE_EXTRA_CA_CERTS: '/etc/posthorn/certificates.pem',
        POSTHORN_CELL: 'east',
      });
      expect(container.volumeMounts).toEqual([{ name: 'files', mountPath: '/etc/posthorn', readOnly: true }]);
    }
  });

  it('takes files from a config map of the user', () => {
    const manifests = render('--set=files.existingConfigMap=mine,files.catalogue=types.json');
    expect(manifests.filter(({ kind }) => kind === 'ConfigMap')).toEqual([]);
    const { spec } = manifests.find(({ kind }) => kind === 'Deployment')!;
    expect(spec.template.spec.volumes).toEqual([{ name: 'files', configMap: { name: 'mine' } }]);
    expect(spec.template.spec.containers[0].env).toContainEqual({
      name: 'POSTHORN_CATALOGUE',
      value: '/etc/posthorn/types.json',
    });
  });

  it('has the alerts of deploy/prometheus/alerts.yml', () => {
    const rule = render('--set=monitoring.enabled=true').find(({ kind }) => kind === 'PrometheusRule')!;
    expect(rule.spec).toEqual(parse(readFileSync(join(root, 'deploy/prometheus/alerts.yml'), 'utf8')));
  });

  it('says what is missing if it has neither a secret nor values for one', () => {
    expect(() => render('--set=existingSecret=')).toThrow('Set secret.DATABASE_URL, or existingSecret.');
  });
});
