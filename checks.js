// Runs the checks at the same time, beside the command in the arguments (`node checks.js vitest run`). The output of
// that command is shown as it comes, the output of a check only if the check fails.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
const checks = ['types', 'lint', 'dead'];

/** Runs a command and resolves when it ends. */
function run(command, stdio, env = process.env) {
  const child = spawn(command, { shell: true, stdio: ['ignore', stdio, stdio], env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  }
  return new Promise((ended) => child.once('close', (code) => ended({ isOk: code === 0, output })));
}

// The compiler is a Go program. Collecting garbage takes a third of its CPU and saves only 60 MB of 500.
const env = { ...process.env, GOGC: 'off' };
// Starting npm for each check would take another second of CPU.
const checked = checks.map((name) => run(scripts[name], 'pipe', env));
const beside = process.argv.slice(2).join(' ');
let failures = 0;
if (beside !== '' && !(await run(beside, 'inherit')).isOk) failures += 1;
for (const [index, name] of checks.entries()) {
  const { isOk, output } = await checked[index];
  if (isOk) continue;
  failures += 1;
  console.error(`\nnpm run ${name} failed:\n\n${output}`);
}
process.exitCode = failures === 0 ? 0 : 1;
