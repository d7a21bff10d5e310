import { setTimeout as sleep } from 'node:timers/promises';
import { isMissingPartition, retryingConflicts } from '../errors.ts';
import type { GatewayDatabase } from '../schema/database.ts';
import { type HeldLock, holdingLock, tryHoldingLock, untilTransactionEnds } from './advisory-lock.ts';
import {
  createDayPartition,
  type DayPartition,
  dayPartitions,
  detachDayPartition,
  dropDayPartition,
} from './day-partitions.ts';
import type { EventDays, ReadThenChange, RemovedDays } from './event-days.ts';
import { EventDaysBusyError } from './event-days-busy-error.ts';
import { firstKeptDay, raiseFirstKeptDay } from './first-kept-day.ts';

/** Held to change which partitions there are. Whoever adds events to partitions that are there does not need it. */
const layoutLock = 'usage_events layout';
/** Held by what must not run twice at once, or while days are removed. */
const careLock = 'usage_events care';

/** Pause between two looks whether other work has ended. */
const pollMs = 50;
/** Days that are remembered as open; beyond it all are looked up again. */
const maxRemembered = 1_000;

/** In Postgres every day is a partition of its own: removing one costs the same whatever it holds. */
export class PostgresEventDays implements EventDays {
  readonly #database: GatewayDatabase;
  readonly #patienceMs: number;
  readonly #open = new Set<string>();

  /** @param patienceMs how long other work on the days is waited for. */
  constructor(database: GatewayDatabase, patienceMs = 30_000) {
    this.#database = database;
    this.#patienceMs = patienceMs;
  }

  async open(days: readonly string[]): Promise<void> {
    const unknown = days.filter((day) => !this.#open.has(day));
    if (unknown.length === 0) return;
    const missing = without(unknown, await attachedDays(this.#database));
    const removed = missing.length === 0 ? '' : await this.#create(missing);
    if (this.#open.size > maxRemembered) this.#open.clear();
    for (const day of unknown) if (day >= removed) this.#open.add(day);
  }

  async adding<T>(days: readonly string[], transaction: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      await this.open(days);
      try {
        return await transaction();
      } catch (thrown) {
        if (attempt === 3 || !isMissingPartition(thrown)) throw thrown;
        this.#open.clear();
      }
    }
  }

  async removeBefore(first: string, signal: AbortSignal): Promise<RemovedDays> {
    const database = this.#database;
    const removed = await tryHoldingLock(database, careLock, async () => {
      // Who makes a partition looks at the first day under the same lock: none is made again once this is said.
      await database.transaction().execute(async (transaction) => {
        await untilTransactionEnds(transaction, layoutLock);
        await raiseFirstKeptDay(transaction, first);
      });
      const old = (await dayPartitions(database)).filter(({ day }) => day < first);
      const done: DayPartition[] = [];
      for (const partition of old) {
        if (signal.aborted) break;
        await holdingLock(database, layoutLock, () => detachDayPartition(database, partition));
        await dropDayPartition(database, partition);
        this.#open.delete(partition.day);
        done.push(partition);
      }
      return { days: done.length, events: done.reduce((sum, { events }) => sum + events, 0) };
    });
    return removed ?? { days: 0, events: 0 };
  }

  async undisturbed<T>({ read, change }: ReadThenChange<T>): Promise<T> {
    const database = this.#database;
    const work = async (lock: HeldLock) => {
      const found = await database
        .transaction()
        .setIsolationLevel('repeatable read')
        .setAccessMode('read only')
        .execute(read);
      await retryingConflicts(() =>
        database.transaction().execute(async (transaction) => {
          await change(transaction, found);
          await lock.confirm();
        }),
      );
      return { found };
    };
    const giveUpAtMs = performance.now() + this.#patienceMs;
    while (true) {
      const done = await tryHoldingLock(database, careLock, work);
      if (done !== undefined) return done.found;
      if (performance.now() > giveUpAtMs) throw new EventDaysBusyError('other work on the days of events goes on');
      await sleep(pollMs);
    }
  }

  /** Makes the partitions that are still missing, and gives the first day that may have one. */
  #create(days: readonly string[]): Promise<string> {
    return retryingConflicts(() =>
      this.#database.transaction().execute(async (transaction) => {
        await untilTransactionEnds(transaction, layoutLock);
        const first = await firstKeptDay(transaction);
        const missing = without(days, await attachedDays(transaction));
        for (const day of missing) if (day >= first) await createDayPartition(transaction, day);
        return first;
      }),
    );
  }
}

async function attachedDays(database: GatewayDatabase): Promise<readonly string[]> {
  const partitions = await dayPartitions(database);
  return partitions.filter(({ state }) => state === 'attached').map(({ day }) => day);
}

function without(days: readonly string[], others: readonly string[]): readonly string[] {
  const known = new Set(others);
  return [...new Set(days)].filter((day) => !known.has(day));
}
