import type { AccountUsesTable, GatewayDatabase, StoredAccountState } from '@gateway/database';
import { systemClock } from '@gateway/time';

/** What an account was to be used for before a change, and is since. The same twice: nothing was changed. */
export interface UseChange {
  readonly before: StoredAccountState;
  readonly now: StoredAccountState;
}

/**
 * What operators want of accounts of `gateway.yaml`, for all brokers. It holds as long as the file says what it said then: a file
 * that says something else of an account has the last word.
 */
export class AccountUses {
  readonly #database: GatewayDatabase;

  constructor(database: GatewayDatabase) {
    this.#database = database;
  }

  async list(): Promise<readonly AccountUsesTable[]> {
    return await this.#database.selectFrom('account_uses').selectAll().execute();
  }

  /** `fileState`: what the file says. With `expected`, only if that is what the account is to be used for by now. */
  async set(
    accountId: string,
    use: StoredAccountState,
    fileState: StoredAccountState,
    expected?: StoredAccountState,
  ): Promise<UseChange> {
    const row = { account_id: accountId, file_state: fileState, updated_at_ms: systemClock.nowMs() };
    return await this.#database.transaction().execute(async (transaction) => {
      // Reads the row as it is, or makes one that says nothing, and holds it until the transaction ends.
      const known = await transaction
        .insertInto('account_uses')
        .values({ ...row, use_state: fileState })
        .onConflict((conflict) =>
          conflict.column('account_id').doUpdateSet(({ ref }) => ({ use_state: ref('account_uses.use_state') })),
        )
        .returningAll()
        .executeTakeFirstOrThrow();
      const before = useBeside(fileState, known);
      if (expected !== undefined && before !== expected) return { before, now: before };
      await transaction
        .updateTable('account_uses')
        .set({ ...row, use_state: use })
        .where('account_id', '=', accountId)
        .execute();
      return { before, now: use };
    });
  }
}

/** What an account is to be used for of which the file says this. */
export function useBeside(fileState: StoredAccountState, row: AccountUsesTable | undefined): StoredAccountState {
  return row?.file_state === fileState ? row.use_state : fileState;
}
