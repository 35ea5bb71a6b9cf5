// Runs the checks at the same time, beside the command in the arguments (`node checks.js vitest run`). The output of
// that command is shown as it comes, the output of a check only if the check fails.
import { spawn } from 'node:child_process';

const checks = ['types', 'lint', 'dead'];

/** Runs a command and resolves when it ends. */
function run(command, stdio) {
  const child = spawn(command, { shell: true, stdio: ['ignore', stdio, stdio] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  }
  return new Promise((ended) => child.once('close', (code) => ended({ isOk: code === 0, output })));
}

const checked = checks.map((name) => run(`npm run --silent ${name}`, 'pipe'));
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
