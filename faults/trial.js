import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isIsolated, runIsolated } from './isolation.js';
import { Random } from './random.js';
import { within } from './waiting.js';
import { World } from './world.js';

/** A trial that takes longer has failed, whatever it is waiting for. */
const trialMs = 240_000;

/**
 * Runs one scenario with one seed. Returns its ledger with a verdict: `held`, `broken` with the reasons, or `skipped` with
 * what is missing on this machine.
 */
export async function runTrial(scenario, seed, { forMs, keepLogs } = {}) {
  const missing = scenario.missing?.();
  if (missing !== undefined) return { verdict: 'skipped', reason: missing };
  if (scenario.isIsolated && !isIsolated()) return runIsolated(scenario, seed);
  const random = new Random(seed, scenario.name);
  const startedMs = performance.now();
  let world;
  try {
    world = await World.open(scenario.shape(random), new Random(seed, `load of ${scenario.name}`));
    const ledger = await within(
      'the end of the trial',
      play(scenario, world, random, forMs),
      trialMs + (forMs ?? 0),
    );
    const { faulty, ...figures } = ledger;
    if (faulty.length > 0) keepLogs?.(world);
    return {
      verdict: faulty.length === 0 ? 'held' : 'broken',
      reasons: faulty,
      ...figures,
      tookMs: Math.round(performance.now() - startedMs),
    };
  } catch (error) {
    if (world) keepLogs?.(world);
    const tookMs = Math.round(performance.now() - startedMs);
    return {
      verdict: 'broken',
      reasons: [error.stack],
      faults: world?.faults.map(({ kind }) => kind),
      tookMs,
    };
  } finally {
    await world?.close();
  }
}

async function play(scenario, world, random, forMs) {
  if (!scenario.isQuiet) world.producer.start();
  await scenario.run(world, random, { forMs });
  return world.settle();
}

/** Copies the logs of a world into a directory that outlives it. */
export function copyLogs(world, directory) {
  mkdirSync(directory, { recursive: true });
  for (const name of readdirSync(world.path).filter((file) => file.endsWith('.log')))
    copyFileSync(join(world.path, name), join(directory, name));
  copyFileSync(world.cluster.logFile, join(directory, 'postgres.log'));
}
