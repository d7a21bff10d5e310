import { defineConfig } from 'vitest/config';

/** `npm run test:faults`: the tests of faults in their long form, minutes instead of seconds. */
export default defineConfig({
  test: {
    name: 'faults',
    include: [
      'test-e2e/faults/**/*.test.ts',
      'test-e2e/suite/pooled-backends.test.ts',
      'services/usage-ingest/test/nats-usage-consumer.test.ts',
    ],
    globalSetup: ['libs/testkit/src/global-setup.ts'],
    env: { FAULTS: 'long' },
    fileParallelism: false,
    testTimeout: 20 * 60_000,
    hookTimeout: 240_000,
    reporters: ['verbose'],
  },
});
