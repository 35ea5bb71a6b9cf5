import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['packages/console/screenshots/screenshots.ts'],
    globalSetup: ['packages/server/test/support/postgres.ts'],
    setupFiles: ['packages/server/test/support/setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
});
