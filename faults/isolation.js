import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makePlace } from './place.js';
import { ended, keep } from './processes.js';

const runner = fileURLToPath(new URL('./run.js', import.meta.url));
const isolatedMs = 300_000;

/** Returns whether this process already runs in a network of its own. */
export const isIsolated = () => process.env.POSTHORN_FAULTS_ISOLATED === '1';

/** Returns what is missing to run a scenario in a network of its own, or undefined. */
export function missingForIsolation() {
  if (isIsolated()) return undefined;
  if (process.getuid() !== 0) return 'only root can make a network without a way out';
  const isPossible = spawnSync('unshare', ['--net', '--mount', 'ip', 'link', 'set', 'lo', 'up']).status === 0;
  return isPossible ? undefined : 'this machine cannot make a network without a way out (unshare, ip)';
}

/**
 * Runs a scenario in a network that has only loopback, with a name server of its own, so that no packet can leave this
 * machine whatever a name resolves to.
 */
export async function runIsolated(scenario, seed) {
  const place = makePlace();
  const [settings, result] = [join(place.path, 'resolv.conf'), join(place.path, 'result.json')];
  writeFileSync(settings, 'nameserver 127.0.0.1\n');
  const inside = 'ip link set lo up && mount --bind "$1" /etc/resolv.conf && shift && exec "$@"';
  const child = keep(
    spawn(
      'unshare',
      [
        ...['--net', '--mount', 'sh', '-c', inside, 'sh', settings, process.execPath, runner],
        ...['--scenario', scenario.name, '--seed', String(seed), '--result', result],
      ],
      { env: { ...process.env, POSTHORN_FAULTS_ISOLATED: '1' }, stdio: ['ignore', 'ignore', 'inherit'] },
    ),
  );
  await ended(child, isolatedMs);
  try {
    return JSON.parse(readFileSync(result, 'utf8')).trials[0];
  } catch {
    return { verdict: 'broken', reasons: [`the isolated run ended with exit code ${child.exitCode}`] };
  } finally {
    place.remove();
  }
}
