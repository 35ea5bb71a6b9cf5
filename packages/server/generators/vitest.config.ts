import { defineConfig } from 'vitest/config';

/** Outside the usual suite: these tools are 300 packages, and one of them reports its installation to a third party. */
export default defineConfig({
  test: {
    // The table of the clients comes last.
    fileParallelism: false,
    include: ['packages/server/generators/*.test.ts'],
    globalSetup: ['packages/server/test/support/postgres.ts'],
    setupFiles: ['packages/server/test/support/setup.ts'],
    // Shows what runs.
    disableConsoleIntercept: true,
    reporters: ['verbose'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
