import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import { join } from 'node:path';
import { openRoom } from '@gateway/testkit/open-room';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Starts real Redis, NATS and Postgres once for a project's tests, or uses servers that are named
 * by URL.
 */
const globalSetup = ['libs/testkit/src/global-setup.ts'];

/** Builds the programs that tests of a whole gateway run. */
const builtPrograms = 'test-e2e/topologies/built-programs.ts';

/** Tests start hundreds of processes of the gateway: they share a compile cache. */
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

/**
 * Tests create many thousands of small files, which are slow on disks: they are in memory if it has
 * the room.
 */
const inMemory = process.env.TMPDIR === undefined ? folderInMemory() : undefined;
if (inMemory !== undefined) process.env.TMPDIR = inMemory;

const { workers, ...patience } = await openRoom();

/** Tests with hundreds of clients, or with programs that only use the processor. */
const crowds = [
  'test-e2e/faults/limit-window.test.ts',
  'test-e2e/faults/group-budget.test.ts',
  'test-e2e/faults/overload.test.ts',
];

const besideEachOther = {
  // Imports are loaded once per worker. This saves half of the processor time of unit tests, and a
  // quarter of that with stores.
  isolate: false,
  maxWorkers: workers,
  ...patience,
};

/**
 * Long files start first, so that none is left for the end. vitest sorts files by their duration in
 * earlier runs, or by their size in a new clone, where it has no durations. Both sort within a
 * folder; the folders are in the order of `longestFirst`.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

/**
 * Tests of a whole gateway take longer than those with a server, and these longer than all others.
 */
const longestFirst = ['/test-e2e/faults/', '/test-e2e/browser/', '/test-e2e/suite/', '/test/'];

function rankOf({ moduleId }: TestSpecification): number {
  const rank = longestFirst.findIndex((folder) => moduleId.slice(import.meta.dirname.length).includes(folder));
  return rank === -1 ? longestFirst.length : rank;
}

/**
 * Unit tests are beside the code; tests that need servers, the file tree or a whole gateway have
 * projects of their own.
 */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'libs/*/src/**/*.test.ts',
            'services/*/src/**/*.test.ts',
            'test-e2e/conformance/src/**/*.test.ts',
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
          include: ['test-e2e/structure/*.test.ts', 'deploy/{scripts,release}/**/*.test.ts'],
          ...besideEachOther,
        },
      },
      {
        // Whole gateways on simulated time: no servers.
        test: {
          name: 'simulation',
          include: ['test-e2e/simulation/**/*.test.ts'],
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
          exclude: crowds,
          globalSetup: [...globalSetup, builtPrograms],
          ...besideEachOther,
        },
      },
      {
        // Hundreds of clients at once: after all others, and one file after the other.
        test: {
          name: 'crowds',
          include: crowds,
          globalSetup: [...globalSetup, builtPrograms],
          ...besideEachOther,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});

/**
 * A folder on Linux' tmpfs that is removed when the run ends. Undefined if there is none, or it is
 * small, or does not allow programs.
 */
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
