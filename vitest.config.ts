import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** Starts real Redis, NATS and Postgres once for a project's tests, or uses the ones that are named by URL. */
const globalSetup = ['libs/testkit/src/global-setup.ts'];

/** Tests start hundreds of processes of the gateway: what one has compiled, the next ones read. */
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

/** They need nothing that others use: as many at a time as there are cores. Those with servers come after them. */
const eachOnItsOwn = { maxWorkers: availableParallelism() };

/** Unit tests stand beside the code; what needs servers, the file tree or a whole gateway has projects of its own. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['libs/*/src/**/*.test.ts', 'services/*/src/**/*.test.ts'],
          testTimeout: 30_000,
          ...eachOnItsOwn,
        },
      },
      {
        test: {
          name: 'store',
          include: ['libs/*/test/**/*.test.ts', 'services/*/test/**/*.test.ts'],
          globalSetup,
          maxWorkers: 2,
          testTimeout: 60_000,
          hookTimeout: 180_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        // Some of them read every file of the tree, which takes its time on a busy machine.
        test: { name: 'structure', include: ['test-e2e/structure/*.test.ts'], testTimeout: 60_000, ...eachOnItsOwn },
      },
      {
        test: {
          name: 'e2e',
          include: ['test-e2e/suite/**/*.test.ts', 'test-e2e/faults/**/*.test.ts'],
          globalSetup,
          // Each file runs a whole gateway on ports of its own, and waits more than it works. More at a time would starve each other.
          maxWorkers: 3,
          testTimeout: 60_000,
          hookTimeout: 240_000,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
