import { defineConfig } from 'vitest/config';

/** `npm run test:faults`: the tests of test-e2e/faults in their long form, minutes instead of seconds. */
export default defineConfig({
  test: {
    name: 'faults',
    include: ['test-e2e/faults/**/*.test.ts'],
    globalSetup: ['libs/testkit/src/global-setup.ts'],
    env: { FAULTS: 'long' },
    fileParallelism: false,
    testTimeout: 20 * 60_000,
    hookTimeout: 240_000,
    reporters: ['verbose'],
  },
});
