import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import { join } from 'node:path';
import { openRoom } from '@gateway/testkit/open-room';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Starts real Redis, NATS and Postgres once for a project's tests, or uses the ones that are named by URL. */
const globalSetup = ['libs/testkit/src/global-setup.ts'];

/** Builds the programs that tests of a whole gateway run. */
const builtPrograms = 'test-e2e/topologies/built-programs.ts';

/** Tests start hundreds of processes of the gateway: what one has compiled, the next ones read. */
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

/** Tests make many thousands of small files, which disks take long for: they are in memory where that has the room. */
const inMemory = process.env.TMPDIR === undefined ? folderInMemory() : undefined;
if (inMemory !== undefined) process.env.TMPDIR = inMemory;

const { workers, ...patience } = await openRoom();

const besideEachOther = {
  // What files import is loaded once per worker: that is half of the processor time of unit tests, a quarter of that with stores.
  isolate: false,
  maxWorkers: workers,
  ...patience,
};

/** What takes long starts before what is short, so that nothing long is left for the end. A clone that is new has no durations to go by. */
class LongOnesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const ofProjects = Map.groupBy(sorted, ({ project }) => project.name);
    return [...ofProjects.values()].flat().toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = long.findIndex((file) => moduleId.endsWith(file));
  return rank === -1 ? long.length : rank;
}

/** Some that work and some that wait always run beside each other: the order by which they are done soonest on two cores. */
const long = [
  'services/limiter/test/redis-faults.test.ts',
  'test-e2e/faults/backend-failover.test.ts',
  'test-e2e/browser/five-questions.test.ts',
  'test-e2e/suite/clients.test.ts',
  'libs/conformance/src/double/gateway-double.test.ts',
  'services/all-in-one/src/reload.test.ts',
  'services/limiter/test/limit-store.test.ts',
  'test-e2e/faults/account-pools.test.ts',
  'services/pool-broker/test/credentials-stay-secret.test.ts',
  'test-e2e/suite/stream-limits.test.ts',
  'test-e2e/suite/observability.test.ts',
  'deploy/scripts/observability/rules.test.ts',
  'deploy/scripts/observe.test.ts',
  'test-e2e/faults/rolling-restart.test.ts',
  'services/edge-router/src/http/stalled-clients.test.ts',
  'services/pool-broker/test/stored-accounts.test.ts',
  'test-e2e/suite/restart.test.ts',
  'test-e2e/suite/settings.test.ts',
  'test-e2e/faults/limits-in-outages.test.ts',
  'test-e2e/suite/contract-services.test.ts',
  'test-e2e/faults/certificate-rotation.test.ts',
  'test-e2e/suite/model-list-refresh.test.ts',
  'test-e2e/suite/all-in-one.test.ts',
  'test-e2e/suite/conformance.test.ts',
  'test-e2e/suite/contract.test.ts',
  'test-e2e/suite/workers.test.ts',
  'test-e2e/suite/npm-scripts.test.ts',
  'libs/database/test/failover.test.ts',
  'test-e2e/browser/operating.test.ts',
  'libs/usage-stream/test/secure-nats.test.ts',
  'test-e2e/suite/newcomer.test.ts',
  'test-e2e/suite/pooled-backends.test.ts',
  'services/limiter/test/failover.test.ts',
  'test-e2e/suite/code-blocks.test.ts',
  'services/pool-broker/test/pool-store.test.ts',
  'test-e2e/suite/taken-ports.test.ts',
  'test-e2e/suite/all-in-one-shared.test.ts',
  'services/pool-broker/test/redis-outage.test.ts',
  'test-e2e/suite/stream-limits-services.test.ts',
  'test-e2e/suite/observability-services.test.ts',
  'test-e2e/suite/services.test.ts',
  'test-e2e/suite/conformance-services.test.ts',
  'test-e2e/browser/pages.test.ts',
  'test-e2e/faults/conservation.test.ts',
  'libs/testkit/test/redis-groups.test.ts',
  'services/edge-router/src/usage/outbox.test.ts',
  'test-e2e/faults/redis-failover.test.ts',
  'test-e2e/suite/start-services.test.ts',
  'services/limiter/test/redis-cluster.test.ts',
  'services/usage-ingest/test/nats-usage-consumer.test.ts',
  'services/pool-broker/test/credentials.test.ts',
  'test-e2e/faults/limit-window.test.ts',
  'libs/redis/test/connections.test.ts',
  'test-e2e/browser/docs.test.ts',
  'test-e2e/browser/console.test.ts',
  'services/pool-broker/src/configuration/reload.test.ts',
];

/** Unit tests stand beside the code; what needs servers, the file tree or a whole gateway has projects of its own. */
export default defineConfig({
  test: {
    sequence: { sequencer: LongOnesFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'libs/*/src/**/*.test.ts',
            'services/*/src/**/*.test.ts',
            'services/admin/console/src/**/*.test.{ts,tsx}',
          ],
          ...besideEachOther,
        },
      },
      {
        test: {
          name: 'store',
          include: ['libs/*/test/**/*.test.ts', 'services/*/test/**/*.test.ts'],
          globalSetup,
          ...besideEachOther,
        },
      },
      {
        test: {
          name: 'structure',
          include: ['test-e2e/structure/*.test.ts', 'deploy/scripts/**/*.test.ts'],
          ...besideEachOther,
        },
      },
      {
        // Pages of the console in a real browser.
        test: {
          name: 'browser',
          include: ['test-e2e/browser/*.test.ts'],
          globalSetup: [builtPrograms],
          ...besideEachOther,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test-e2e/suite/**/*.test.ts', 'test-e2e/faults/**/*.test.ts'],
          globalSetup: [...globalSetup, builtPrograms],
          ...besideEachOther,
        },
      },
    ],
  },
});

/** A folder on Linux' tmpfs that is gone when the run ends. Undefined where there is none, or it is small, or starts no programs. */
function folderInMemory(): string | undefined {
  const tmpfs = '/dev/shm';
  const mounts = process.platform === 'linux' ? readFileSync('/proc/mounts', 'utf8') : '';
  const options = new RegExp(`^\\S+ ${tmpfs} tmpfs (\\S+)`, 'm').exec(mounts)?.[1]?.split(',');
  if (!options?.includes('rw') || options.includes('noexec')) return undefined;
  const { bavail, bsize } = statfsSync(tmpfs);
  const gibibyte = 2 ** 30;
  if (bavail * bsize < 4 * gibibyte || freemem() < 8 * gibibyte) return undefined;
  const folder = mkdtempSync(`${tmpfs}/gateway-`);
  // Servers that refuse to run as root have folders in it.
  chmodSync(folder, 0o755);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
