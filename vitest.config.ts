import { defineConfig } from 'vitest/config';

/** Unit tests stand beside the code; the end-to-end suite and the structure test have projects of their own. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['libs/*/src/**/*.test.ts', 'services/*/src/**/*.test.ts'],
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: 'store',
          include: ['libs/*/test/**/*.test.ts', 'services/*/test/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 180_000,
        },
      },
      { test: { name: 'structure', include: ['test-e2e/structure/*.test.ts'] } },
      { test: { name: 'e2e', include: ['test-e2e/suite/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 240_000 } },
    ],
  },
});
