import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { MemoryLimitStore } from '@gateway/limits';
import { BudgetPeriod, CostKind } from '@gateway/proto/limiter/v2/limit_pb.js';
import { createLogger, Metrics } from '@gateway/telemetry';
import { localDayOf } from '@gateway/time';
import { ManualTime } from '@gateway/time/simulated';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type PlainCheck as Check, PlainStore } from '../../test/plain-store.ts';
import { EmbeddedLimitStore } from './embedded-limit-store.ts';

const startMs = Date.parse('2026-11-22T10:00:00.000Z');
const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };

describe('the embedded limit store', () => {
  let folder: string;
  let path: string;
  let time: ManualTime;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'admissions-'));
    path = join(folder, 'admissions.sqlite');
    time = new ManualTime(startMs);
  });
  afterEach(() => {
    time[Symbol.dispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = async (resources: AsyncDisposableStack) =>
    new PlainStore(resources.use(new EmbeddedLimitStore({ path, maxKeys: 1_000, runtime })));
  /** Runs `work` with a store that starts with what the previous one left. */
  const withStore = async <T>(work: (store: PlainStore) => T | Promise<T>): Promise<T> => {
    await using resources = new AsyncDisposableStack();
    return await work(await open(resources));
  };
  const kindOf = async (store: PlainStore, requestId: string, limit = 2) =>
    (await store.admit(check('a', requestId, limit))).kind;

  it('knows the last minute of the one before it, to the millisecond', async () => {
    await withStore(async (store) => kindOf(store, 'r1'));
    time.advanceMs(10_000);
    await withStore(async (store) => {
      expect(await kindOf(store, 'r2')).toBe('admitted');
      expect(await kindOf(store, 'r3')).toBe('refused');
      // A repeated request takes no second slot.
      expect(await kindOf(store, 'r1')).toBe('admitted');
    });
    time.advanceMs(49_999);
    await withStore(async (store) => expect(await kindOf(store, 'r4')).toBe('refused'));
    time.advanceMs(1);
    await withStore(async (store) => {
      expect(await kindOf(store, 'r5')).toBe('admitted');
      expect(await kindOf(store, 'r6')).toBe('refused');
    });
  });

  it('holds admissions for a minute, and no longer, when the clock was set back by hours', async () => {
    await withStore(async (store) => [await kindOf(store, 'r1'), await kindOf(store, 'r2')]);
    time.advanceMs(-7_200_000);
    await withStore(async (store) => expect(await kindOf(store, 'r3')).toBe('refused'));
    time.advanceMs(30_000);
    await withStore(async (store) => expect(await kindOf(store, 'r4')).toBe('refused'));
    time.advanceMs(30_000);
    await withStore(async (store) => expect(await kindOf(store, 'r5')).toBe('admitted'));
  });

  it('knows a request by its latest entry, also when the clock was set back', async () => {
    await withStore(async (store) => {
      await kindOf(store, 'r1');
      time.advanceMs(60_000);
      await kindOf(store, 'r1');
    });
    time.advanceMs(-1);
    await withStore(async (store) => [await kindOf(store, 'r2'), expect(await kindOf(store, 'r3')).toBe('refused')]);
    time.advanceMs(1_000);
    await withStore(async (store) => expect(await kindOf(store, 'r4')).toBe('refused'));
  });

  it('decides as one that is never started again', async () => {
    const step = fc.record({
      // Time never goes back, because which entries a store has dropped by then depends on when it
      // was last used.
      afterMs: fc.oneof(fc.integer({ min: 0, max: 30_000 }), fc.integer({ min: 0, max: 90_000 })),
      key: fc.constantFrom('a', 'b'),
      groupKey: fc.constantFrom(undefined, 'b', 'g'),
      request: fc.integer({ min: 0, max: 30 }),
      isReservationRefused: fc.boolean(),
      restart: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async (steps) => {
        rmSync(path, { force: true });
        time.setMs(startMs);
        const lasting = new MemoryLimitStore({ maxKeys: 1_000 });
        let resources = new AsyncDisposableStack();
        let { store } = await open(resources);
        for (const { afterMs, key, groupKey, request, isReservationRefused, restart } of steps) {
          time.advanceMs(afterMs);
          if (restart) {
            await resources.disposeAsync();
            resources = new AsyncDisposableStack();
            ({ store } = await open(resources));
          }
          const limits = { requestsPerMinute: 3 };
          const group = groupKey === undefined ? undefined : { key: groupKey, limits: { requestsPerMinute: 4 } };
          const question = { key, group, requestId: `r${request}`, limits, costKind: CostKind.REQUEST_AND_TOKENS };
          expect(await store.admit(question)).toEqual(await lasting.admit(question));
          if (!isReservationRefused) continue;
          const spent = { budget: { amountMicros: 0, period: BudgetPeriod.DAY } };
          const localDay = localDayOf(time.nowMs);
          const reservation = { key, limits: spent, group, requestId: `r${request}`, localDay, costMicros: 1 };
          const [refusal, expected] = [await store.reserve(reservation), await lasting.reserve(reservation)];
          expect(refusal).toBeDefined();
          expect(refusal).toEqual(expected);
        }
        await resources.disposeAsync();
      }),
      { numRuns: 80 },
    );
  });

  it('begins anew with a file that is damaged, and keeps it from other users', async () => {
    writeFileSync(path, 'this is no database, but as long as one: '.repeat(200));
    await withStore(async (store) => [await kindOf(store, 'r1'), await kindOf(store, 'r2')]);
    await withStore(async (store) => expect(await kindOf(store, 'r3')).toBe('refused'));
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('begins anew with a file of which a part is damaged', async () => {
    await withStore(async (store) => {
      const limits = { requestsPerMinute: 5_000, tokensPerDay: undefined };
      for (let n = 0; n < 2_000; n++) await store.admit({ ...check('a', `r${n}`, 0), limits });
    });
    const content = readFileSync(path);
    // All pages but the first, which has the header.
    writeFileSync(path, content.fill(0xa5, 4_096));
    await withStore(async (store) => [
      expect(await kindOf(store, 'x1')).toBe('admitted'),
      expect(await kindOf(store, 'x2')).toBe('admitted'),
    ]);
    await withStore(async (store) => expect(await kindOf(store, 'x3')).toBe('refused'));
  });

  it('leaves a file to the process that has it open, and does not start', async () => {
    await withStore(async (store) => {
      await kindOf(store, 'r1');
      await expect(withStore(() => undefined)).rejects.toThrow('locked');
      await kindOf(store, 'r2');
    });
    await withStore(async (store) => expect(await kindOf(store, 'r3')).toBe('refused'));
  });

  it('keeps no more than the last minute in its file', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    await withStore(async (store) => {
      for (const requestId of ['r1', 'r2', 'r3']) {
        await kindOf(store, requestId);
        time.advanceMs(60_000);
        vi.advanceTimersByTime(60_000);
      }
    });
    using database = new DatabaseSync(path);
    expect(database.prepare('SELECT request_id FROM admissions').all()).toEqual([{ request_id: 'r3' }]);
  });

  describe('whose disk is full', () => {
    const logger = createLogger('test', 'silent');
    const warn = vi.spyOn(logger, 'warn');
    let metrics: Metrics;
    beforeEach(() => {
      warn.mockClear();
      metrics = new Metrics();
    });
    const withFullDisk = async <T>(work: (store: PlainStore, makeRoom: () => void) => Promise<T>): Promise<T> => {
      await using resources = new AsyncDisposableStack();
      const options = { path, maxKeys: 1_000, runtime: { logger, metrics } };
      const store = new PlainStore(resources.use(new EmbeddedLimitStore(options)));
      const run = vi.spyOn(StatementSync.prototype, 'run').mockImplementation(() => {
        throw new Error('database or disk is full');
      });
      resources.defer(() => run.mockRestore());
      return await work(store, () => run.mockRestore());
    };

    it('goes on in memory, says so once, and counts each admission that a restart would lose', async () => {
      await withFullDisk(async (store) => {
        for (const requestId of ['r1', 'r2', 'r3']) expect(await kindOf(store, requestId, 3)).toBe('admitted');
        expect(await kindOf(store, 'r4', 3)).toBe('refused');
      });
      expect(warn.mock.calls).toEqual([
        [{ reason: 'database or disk is full' }, expect.stringContaining('a restart would lose them')],
      ]);
      expect(await metrics.exposition()).toContain('gateway_limiter_admissions_not_kept_total 3\n');
    });

    it('does not count the slot that a request gives back as an admission', async () => {
      await withFullDisk(async ({ store }) => {
        const terms = { key: 'a', requestId: 'r1', limits: { budget: { amountMicros: 2, period: BudgetPeriod.DAY } } };
        const limits = { ...terms.limits, requestsPerMinute: 2 };
        const question = { ...terms, limits, costKind: CostKind.REQUEST_AND_TOKENS };
        await store.admit(question);
        const reservation = { ...terms, limits, localDay: localDayOf(time.nowMs), costMicros: 2 };
        await store.reserve({ ...reservation, requestId: 'another', costMicros: 1 });
        expect(await store.reserve(reservation)).toBeDefined();
        await store.admit({ ...question, requestId: 'r2' });
      });
      expect(await metrics.exposition()).toContain('gateway_limiter_admissions_not_kept_total 2\n');
    });

    it('keeps admissions again once there is room', async () => {
      await withFullDisk(async (store, makeRoom) => {
        await kindOf(store, 'r1');
        makeRoom();
        await kindOf(store, 'r2');
      });
      await withStore(async (store) => {
        expect(await kindOf(store, 'r3')).toBe('admitted');
        expect(await kindOf(store, 'r4')).toBe('refused');
      });
    });
  });

  it('goes on in memory when its file cannot be written any more', async () => {
    await using resources = new AsyncDisposableStack();
    const store = await open(resources);
    // Disposal in reverse order closes the file, like a disk that failed.
    await resources.disposeAsync();
    expect([await kindOf(store, 'r1'), await kindOf(store, 'r2'), await kindOf(store, 'r3')]).toEqual([
      'admitted',
      'admitted',
      'refused',
    ]);
    expect(await runtime.metrics.exposition()).toContain('gateway_limiter_admissions_not_kept_total 2\n');
  });
});

function check(key: string, requestId: string, requestsPerMinute: number): Check {
  return {
    key,
    requestId,
    limits: { requestsPerMinute, tokensPerDay: undefined },
    costKind: 'request_only',
    hasLedger: false,
  };
}
