import { openRoom } from '@gateway/testkit/open-room';
import { defineConfig } from 'vitest/config';

const { hookTimeout, expect, provide } = await openRoom();

/**
 * `npm run test:faults`: the tests of faults and the costly properties in their long form, minutes
 * instead of seconds.
 */
export default defineConfig({
  test: {
    name: 'faults',
    include: [
      'test-e2e/faults/**/*.test.ts',
      // Clients of people, as their makers publish them.
      'test-e2e/sign-in/*.test.ts',
      // The README's two commands on an empty machine.
      'test-e2e/machines/*.test.ts',
      'test-e2e/suite/pooled-backends.test.ts',
      'test-e2e/structure/chat-request-schema.test.ts',
      'services/limiter/test/{limit-model,group-model,outage-model,return-model,reconciliation-model,store-agreement}.test.ts',
      'services/edge-router/src/usage/outbox-conservation.test.ts',
      'services/{messages,responses}-adapter/src/format/{*.property,cut-answers}.test.ts',
      'services/responses-adapter/src/format/splice-request.test.ts',
      // The contract of the ledger and of tokens, also through PgBouncer.
      'libs/database/test/{database,event-days}.test.ts',
      'services/{identity,usage-ingest,usage-query}/test/*.test.ts',
    ],
    globalSetup: ['libs/testkit/src/global-setup.ts', 'test-e2e/topologies/built-programs.ts'],
    env: { FAULTS: 'long' },
    fileParallelism: false,
    testTimeout: 20 * 60_000,
    hookTimeout,
    expect,
    provide,
    reporters: ['verbose'],
  },
});
