import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Prepares a release: `npm run release 0.2.0`. Dates the changelog, sets the version of every package and of the chart,
 * runs all tests, commits and tags. Pushing the tag is left to you.
 */
const version = process.argv[2] ?? '';
const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).trim();
const run = (...args) => execFileSync('npm', args, { stdio: 'inherit' });

function fail(message) {
  console.error(message);
  process.exit(1);
}

if (!/^\d+\.\d+\.\d+$/.test(version)) fail('Usage: npm run release <version>, such as 0.2.0.');
if (git('status', '--porcelain') !== '') fail('There are changes that are not committed.');
if (git('tag', '--list', `v${version}`) !== '') fail(`The tag v${version} exists.`);

const changelog = readFileSync('CHANGELOG.md', 'utf8');
const unreleased = changelog.split(/^## \[/m).find((section) => section.startsWith('Unreleased]'));
if (!/^- /m.test(unreleased ?? '')) fail('CHANGELOG.md has nothing under [Unreleased].');
const today = new Date().toISOString().slice(0, 10);
writeFileSync(
  'CHANGELOG.md',
  changelog.replace('## [Unreleased]\n', `## [Unreleased]\n\n## [${version}] - ${today}\n`),
);

run('version', version, '--workspaces', '--no-git-tag-version', '--workspaces-update=false');
for (const path of [
  'packages/server',
  'packages/demo',
  'packages/client',
  'packages/console',
  'packages/receiver',
]) {
  const file = `${path}/package.json`;
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace(/("@posthorn\/[a-z]+": )"\^?[\d.]+"/g, `$1"^${version}"`));
}
const chart = 'deploy/helm/posthorn/Chart.yaml';
writeFileSync(chart, readFileSync(chart, 'utf8').replace(/^((?:app)?[vV]ersion): .*$/gm, `$1: ${version}`));
run('install', '--package-lock-only', '--ignore-scripts');
run('test');
git('commit', '--all', '--message', `Release ${version}`);
git('tag', '--annotate', `v${version}`, '--message', `Posthorn ${version}`);
console.log(`Tagged v${version}. Push it with: git push --follow-tags`);
