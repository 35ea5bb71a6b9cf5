import { readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BaseSequencer, type Reporter, type TestModule, type TestSpecification } from 'vitest/node';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const kept = new URL('longest.json', import.meta.url);
const secondsMin = 5;

/**
 * Starts the files that took longest in the run whose times are kept in `longest.json`, then the others in the usual
 * order. Vitest itself knows how long a file took only after a first run on the same machine. Before that it starts with
 * the largest files, and a long one that starts last keeps a single core busy while the others are idle.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = JSON.parse(readFileSync(kept, 'utf8')) as Record<string, number>;
    const timeOf = ({ moduleId }: TestSpecification) => seconds[relative(root, moduleId)] ?? 0;
    return (await super.sort(files)).sort((a, b) => timeOf(b) - timeOf(a));
  }
}

/** Keeps the times of a run: `UPDATE_TIMES=1 npx vitest run`. */
export const keepTimes: Reporter = {
  onTestRunEnd(modules: readonly TestModule[]) {
    const times = modules
      .map((file) => [relative(root, file.moduleId), Math.round(file.diagnostic().duration / 1_000)] as const)
      .filter(([, seconds]) => seconds >= secondsMin)
      .sort(([, a], [, b]) => b - a);
    writeFileSync(kept, `${JSON.stringify(Object.fromEntries(times), null, 2)}\n`);
  },
};
