import type { GatewayDatabase } from '@gateway/database';
import { openSqlite } from '@gateway/database/sqlite';
import { sleep } from '@gateway/time';
import type { Statement } from '../world/databases.ts';
import type { Chance } from '../world/seeded.ts';

/**
 * What a database may do for a while: answer nothing, wait for another session, fail in the middle
 * of transactions, or commit without an answer.
 */
export const databaseTroubles = ['away', 'slow', 'breaks', 'unanswered'] as const;
export type DatabaseTrouble = (typeof databaseTroubles)[number];

/** The database of tokens and of the ledger, with its troubles. */
export class LedgerDatabase {
  readonly database: GatewayDatabase = openSqlite(':memory:');
  #trouble: { readonly kind: DatabaseTrouble; readonly chance: Chance } | undefined;

  begin(kind: DatabaseTrouble, chance: Chance): void {
    this.#trouble = { kind, chance };
    if (kind === 'slow') void this.#holdLocks(chance);
  }

  get isTroubled(): boolean {
    return this.#trouble !== undefined;
  }

  /** Ends the trouble, unless another one has begun. */
  end(chance = this.#trouble?.chance): void {
    if (this.#trouble?.chance === chance) this.#trouble = undefined;
  }

  /** Runs a statement, or answers with the trouble. */
  answer<T>({ database, sql }: Statement, run: () => T): T {
    const { kind, chance } = this.#trouble ?? {};
    // A lost connection rolls back, too.
    if (kind === undefined || kind === 'slow' || /^rollback/i.test(sql)) return run();
    if (kind === 'away') throw new Error('the database does not answer');
    if (kind === 'breaks' && database.isTransaction && chance?.happens(0.2)) throw new Error('the database broke off');
    const value = run();
    if (kind === 'unanswered' && /^commit/i.test(sql) && chance?.happens(0.5)) {
      throw new Error('the answer of the database is lost');
    }
    return value;
  }

  /** Another session holds locks for which every statement waits. */
  async #holdLocks(chance: Chance): Promise<void> {
    while (this.#trouble?.chance === chance) {
      const holding = this.database.transaction().execute(() => sleep(chance.between(10, 1_500)));
      // The next trouble hits this session as well.
      await holding.catch(() => undefined);
      await sleep(chance.between(1, 200));
    }
  }
}
