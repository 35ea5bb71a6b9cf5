import { defineConfig } from 'vitest/config';

/** Outside the usual suite: it installs hundreds of packages from the registry, as a user does. */
export default defineConfig({
  test: {
    include: ['packages/server/published/*.test.ts'],
    setupFiles: ['packages/server/test/support/setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
