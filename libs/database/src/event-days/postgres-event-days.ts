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
import type { EventDays, ReadThenChange, RemovedDays, TableByDay } from './event-days.ts';
import { EventDaysBusyError } from './event-days-busy-error.ts';
import { firstKeptDay, raiseFirstKeptDay } from './first-kept-day.ts';

/** Pause between two looks whether other work has ended. */
const pollMs = 50;
/** Days that are remembered as open; beyond it all are looked up again. */
const maxRemembered = 1_000;

/** In Postgres every day is a partition of its own: removing one costs the same whatever it holds. */
export class PostgresEventDays implements EventDays {
  readonly #database: GatewayDatabase;
  readonly #table: TableByDay;
  /** Held to change which partitions there are, not to add rows to partitions that are there. */
  readonly #layoutLock: string;
  /** Held by what must not run twice at once, or while days are removed. */
  readonly #careLock: string;
  readonly #patienceMs: number;
  readonly #open = new Set<string>();

  /** @param patienceMs how long other work on the days is waited for. */
  constructor(database: GatewayDatabase, table: TableByDay = 'usage_events', patienceMs = 30_000) {
    this.#database = database;
    this.#table = table;
    this.#layoutLock = `${table} layout`;
    this.#careLock = `${table} care`;
    this.#patienceMs = patienceMs;
  }

  async open(days: readonly string[]): Promise<void> {
    const unknown = days.filter((day) => !this.#open.has(day));
    if (unknown.length === 0) return;
    const missing = without(unknown, await attachedDays(this.#database, this.#table));
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
    const removed = await tryHoldingLock(database, this.#careLock, async () => {
      // Who makes a partition looks at the first day under the same lock: none is made again once this is said.
      await database.transaction().execute(async (transaction) => {
        await untilTransactionEnds(transaction, this.#layoutLock);
        await raiseFirstKeptDay(transaction, this.#table, first);
      });
      const old = (await dayPartitions(database, this.#table)).filter(({ day }) => day < first);
      const done: DayPartition[] = [];
      for (const partition of old) {
        if (signal.aborted) break;
        await holdingLock(database, this.#layoutLock, () => detachDayPartition(database, this.#table, partition));
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
      const done = await tryHoldingLock(database, this.#careLock, work);
      if (done !== undefined) return done.found;
      if (performance.now() > giveUpAtMs) throw new EventDaysBusyError('other work on the days of events goes on');
      await sleep(pollMs);
    }
  }

  /** Makes the partitions that are still missing, and gives the first day that may have one. */
  #create(days: readonly string[]): Promise<string> {
    return retryingConflicts(() =>
      this.#database.transaction().execute(async (transaction) => {
        await untilTransactionEnds(transaction, this.#layoutLock);
        const first = await firstKeptDay(transaction, this.#table);
        const missing = without(days, await attachedDays(transaction, this.#table));
        for (const day of missing) if (day >= first) await createDayPartition(transaction, this.#table, day);
        return first;
      }),
    );
  }
}

async function attachedDays(database: GatewayDatabase, table: TableByDay): Promise<readonly string[]> {
  const partitions = await dayPartitions(database, table);
  return partitions.filter(({ state }) => state === 'attached').map(({ day }) => day);
}

function without(days: readonly string[], others: readonly string[]): readonly string[] {
  const known = new Set(others);
  return [...new Set(days)].filter((day) => !known.has(day));
}
