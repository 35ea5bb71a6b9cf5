import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { keepTimes, LongestFirst } from './packages/server/test/support/longest-first.js';

export default defineConfig({
  test: {
    include: ['packages/*/test/**/*.test.ts', 'examples/test/*.test.ts', 'capacity/test/*.test.js'],
    globalSetup: ['packages/server/test/support/postgres.ts'],
    setupFiles: ['packages/server/test/support/setup.ts'],
    // Loading the service again for each of a hundred files took a third of the time.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    ...(process.env.UPDATE_TIMES ? { reporters: ['default', keepTimes] } : {}),
    // Only for what hangs. On a machine with other work, starting a process can take longer than 30 s.
    testTimeout: 120_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    execArgv: [
      // Less garbage collection: most of what tests allocate is garbage before 64 MB are full.
      ...['--min-semi-space-size=64', '--max-semi-space-size=64'],
      // Most code in tests runs too seldom for optimizing it to pay for itself. Later versions of Node do not know the
      // first option.
      ...(process.versions.node.startsWith('20.') ? ['--interrupt-budget=600000', '--always-sparkplug'] : []),
    ],
    // Three more than cores: a test that waits leaves its core to another. Each worker needs some 20 connections of the
    // 100 that a given PostgreSQL usually has.
    maxWorkers: Math.min(availableParallelism() + 3, process.env.DATABASE_URL === undefined ? 5 : 4),
  },
});
