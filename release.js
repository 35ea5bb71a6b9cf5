import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

/**
 * Prepares a release: `npm run release 0.2.0 https://github.com/OWNER/NAME`. Checks that the names of the packages are
 * ours or free, dates the changelog, sets the version of every package and of the chart, says where the source is (npm
 * compares that with the provenance of a build), keeps a database of this version for the test of upgrades, runs all
 * tests, commits, tags, and packs the tarballs into `release`. Pushing the tag and publishing are left to you.
 */
const [version = '', repository = ''] = process.argv.slice(2);
const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).trim();
const run = (...args) => execFileSync('npm', args, { stdio: 'inherit' });

function fail(message) {
  console.error(message);
  process.exit(1);
}

if (!/^\d+\.\d+\.\d+$/.test(version) || !/^https:\/\/\S+[^/]$/.test(repository))
  fail('Usage: npm run release VERSION REPOSITORY, such as 0.2.0 https://github.com/OWNER/NAME.');
if (git('status', '--porcelain') !== '') fail('There are changes that are not committed.');
if (git('tag', '--list', `v${version}`) !== '') fail(`The tag v${version} exists.`);

for (const name of readdirSync('packages')) {
  const manifest = JSON.parse(readFileSync(`packages/${name}/package.json`, 'utf8'));
  if (!manifest.private) checkOwner(manifest.name);
}

const changelog = readFileSync('CHANGELOG.md', 'utf8');
const unreleased = changelog.split(/^## \[/m).find((section) => section.startsWith('Unreleased]'));
if (!/^- /m.test(unreleased ?? '')) fail('CHANGELOG.md has nothing under [Unreleased].');
const today = new Date().toISOString().slice(0, 10);
writeFileSync(
  'CHANGELOG.md',
  changelog.replace('## [Unreleased]\n', `## [Unreleased]\n\n## [${version}] - ${today}\n`),
);

run('version', version, '--workspaces', '--no-git-tag-version', '--workspaces-update=false');
for (const name of readdirSync('packages')) {
  const file = `packages/${name}/package.json`;
  const text = readFileSync(file, 'utf8').replace(
    /("(?:@posthorn\/[a-z]+|posthorn)": )"\^[\d.]+"/g,
    `$1"^${version}"`,
  );
  const manifest = JSON.parse(text);
  manifest.repository = { type: 'git', url: `git+${repository}.git`, directory: `packages/${name}` };
  manifest.homepage = `${repository}#readme`;
  manifest.bugs = `${repository}/issues`;
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
}
const chart = 'deploy/helm/posthorn/Chart.yaml';
writeFileSync(chart, readFileSync(chart, 'utf8').replace(/^((?:app)?[vV]ersion): .*$/gm, `$1: ${version}`));
run('install', '--package-lock-only', '--ignore-scripts');
execFileSync('node', ['deploy/keep-version.js', version], { stdio: 'inherit' });
run('test');
git('add', '--all');
git('commit', '--message', `Release ${version}`);
git('tag', '--annotate', `v${version}`, '--message', `Posthorn ${version}`);
mkdirSync('release', { recursive: true });
run('pack', '--workspaces', '--ignore-scripts', '--pack-destination', 'release');
console.log(`Tagged v${version}. Push it with: git push --follow-tags`);
console.log('Then publish what is in release: npm publish --provenance --access public FILE');

/** A name that belongs to somebody else must not be published, nor suggested to anybody. */
function checkOwner(name) {
  const { status, stdout, stderr } = spawnSync('npm', ['owner', 'ls', name], { encoding: 'utf8' });
  if (status !== 0 && /E404/.test(stderr)) return;
  if (status !== 0) fail(`npm cannot say who owns ${name}: ${stderr}`);
  const me = spawnSync('npm', ['whoami'], { encoding: 'utf8' });
  const owners = stdout.split('\n').map((line) => line.split(' ')[0]);
  if (me.status !== 0 || !owners.includes(me.stdout.trim()))
    fail(
      `The package ${name} belongs to ${owners.join(', ')}. Log in as an owner with npm login, or rename it.`,
    );
}
