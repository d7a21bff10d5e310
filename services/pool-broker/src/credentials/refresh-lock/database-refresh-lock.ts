import { randomUUID } from 'node:crypto';
import type { GatewayDatabase } from '@gateway/database';
import { isPostgres } from '@gateway/database';
import type { Clock } from '@gateway/time';
import { type RawBuilder, sql } from 'kysely';
import { addGrantRow } from '../grants/database-grant-store.ts';
import type { GrantKey } from '../grants/grant-store.ts';
import type { HeldLock, RefreshLock } from './refresh-lock.ts';

/** The lock of brokers that share a database and no Redis: a column of the account's row, by that database's clock. */
export class DatabaseRefreshLock implements RefreshLock {
  readonly #database: GatewayDatabase;
  readonly #clock: Clock;

  constructor(database: GatewayDatabase, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  async take(key: GrantKey, ttlMs: number, above: number): Promise<HeldLock | undefined> {
    const holder = randomUUID();
    const fence = await this.#take(key, holder, { ttlMs, above });
    if (fence === undefined) return undefined;
    return {
      fence,
      extend: (moreMs) => this.#hold(key, holder, this.#inMs(moreMs)),
      release: async () => void (await this.#hold(key, holder, sql<number>`0`)),
    };
  }

  async #take(
    key: GrantKey,
    holder: string,
    { ttlMs, above }: { readonly ttlMs: number; readonly above: number },
  ): Promise<number | undefined> {
    return await this.#database.transaction().execute(async (transaction) => {
      await addGrantRow(transaction, key, this.#clock.nowMs());
      // The number that `claim` notes is one more than the row's: the row itself is left for the claim.
      const row = await transaction
        .updateTable('account_grants')
        .set({ locked_by: holder, locked_until_ms: this.#inMs(ttlMs) })
        .where('account_id', '=', key.accountId)
        .where('origin', '=', key.origin)
        .where(({ or, eb }) => or([eb('locked_until_ms', 'is', null), eb('locked_until_ms', '<', this.#inMs(0))]))
        .returning('fence')
        .executeTakeFirst();
      return row === undefined ? undefined : Math.max(row.fence, above) + 1;
    });
  }

  async #hold({ accountId, origin }: GrantKey, holder: string, untilMs: RawBuilder<number>): Promise<boolean> {
    const { numUpdatedRows } = await this.#database
      .updateTable('account_grants')
      .set({ locked_until_ms: untilMs })
      .where('account_id', '=', accountId)
      .where('origin', '=', origin)
      .where('locked_by', '=', holder)
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  }

  /** The database's own time, which all brokers on it agree on, and so much later. */
  #inMs(laterMs: number): RawBuilder<number> {
    return isPostgres(this.#database)
      ? sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint + ${laterMs}::bigint`
      : sql<number>`cast(unixepoch('subsec') * 1000 as integer) + ${laterMs}`;
  }
}
