import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['packages/*/test/**/*.test.ts', 'examples/test/*.test.ts'],
    globalSetup: ['packages/server/test/support/postgres.ts'],
    setupFiles: ['packages/server/test/support/setup.ts'],
    // Loading the service anew for each of a hundred files took a third of the time.
    isolate: false,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
