import type { AccountGrantsTable, Database, GatewayDatabase } from '@gateway/database';
import type { Clock } from '@gateway/time';
import type { Transaction } from 'kysely';
import type { Claim, GrantKey, GrantStore, StoredGrant } from './grant-store.ts';

/** Grants in Postgres or SQLite. */
export class DatabaseGrantStore implements GrantStore {
  readonly #database: GatewayDatabase;
  readonly #clock: Clock;

  constructor(database: GatewayDatabase, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  async read(key: GrantKey): Promise<StoredGrant | undefined> {
    return await readGrant(this.#database, key);
  }

  async lastFence({ accountId, origin }: GrantKey): Promise<number> {
    const row = await this.#database
      .selectFrom('account_grants')
      .select('fence')
      .where('account_id', '=', accountId)
      .where('origin', '=', origin)
      .executeTakeFirst();
    return row?.fence ?? 0;
  }

  async claim(key: GrantKey, fence: number): Promise<Claim> {
    return await this.#database.transaction().execute(async (transaction) => {
      await addGrantRow(transaction, key, this.#clock.nowMs());
      const { numUpdatedRows } = await transaction
        .updateTable('account_grants')
        .set({ fence })
        .where('account_id', '=', key.accountId)
        .where('origin', '=', key.origin)
        .where('fence', '<', fence)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) return { kind: 'superseded' };
      return { kind: 'claimed', grant: await readGrant(transaction, key) };
    });
  }

  async save(key: GrantKey, { version, tokens, problem }: StoredGrant): Promise<boolean> {
    return await this.#database.transaction().execute(async (transaction) => {
      const nowMs = this.#clock.nowMs();
      await addGrantRow(transaction, key, nowMs);
      const sealed = { tokens: tokens.text, key_id: tokens.keyId };
      const { numUpdatedRows } = await transaction
        .updateTable('account_grants')
        .set({ ...sealed, version, problem: problem ?? null, updated_at_ms: nowMs })
        .where('account_id', '=', key.accountId)
        .where('origin', '=', key.origin)
        .where('version', '=', version - 1)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows > 0n) {
        await dropOutdated(transaction, key, nowMs);
        return true;
      }
      const stored = await readGrant(transaction, key);
      return stored?.version === version && stored.tokens.text === tokens.text;
    });
  }

  async problems(keys: readonly GrantKey[]): Promise<ReadonlyMap<string, string>> {
    if (keys.length === 0) return new Map();
    const rows = await this.#database
      .selectFrom('account_grants')
      .select(['account_id', 'origin', 'problem'])
      .where('problem', 'is not', null)
      .execute();
    const origins = new Map(keys.map(({ accountId, origin }) => [accountId, origin]));
    return new Map(
      rows.flatMap(({ account_id, origin, problem }) =>
        problem === null || origins.get(account_id) !== origin ? [] : [[account_id, problem] as const],
      ),
    );
  }
}

/** The row of a grant that has none yet. */
export async function addGrantRow(
  transaction: Transaction<Database>,
  { accountId, origin }: GrantKey,
  nowMs: number,
): Promise<void> {
  await transaction
    .insertInto('account_grants')
    .values({ account_id: accountId, origin, version: 0, updated_at_ms: nowMs, fence: 0 })
    .onConflict((conflict) => conflict.columns(['account_id', 'origin']).doNothing())
    .execute();
}

// As long as it may take until no replica has the configuration before.
const outdatedAfterMs = 30 * 86_400_000;

/** Tokens of a credential that the account has no more. */
async function dropOutdated(
  transaction: Transaction<Database>,
  { accountId, origin }: GrantKey,
  nowMs: number,
): Promise<void> {
  await transaction
    .deleteFrom('account_grants')
    .where('account_id', '=', accountId)
    .where('origin', '!=', origin)
    .where('updated_at_ms', '<', nowMs - outdatedAfterMs)
    .execute();
}

async function readGrant(
  database: GatewayDatabase | Transaction<Database>,
  { accountId, origin }: GrantKey,
): Promise<StoredGrant | undefined> {
  const row = await database
    .selectFrom('account_grants')
    .select(['version', 'tokens', 'key_id', 'problem'])
    .where('account_id', '=', accountId)
    .where('origin', '=', origin)
    .executeTakeFirst();
  return row && toGrant(row);
}

type GrantRow = Pick<AccountGrantsTable, 'version' | 'tokens' | 'key_id' | 'problem'>;

function toGrant({ version, tokens, key_id, problem }: GrantRow): StoredGrant | undefined {
  if (tokens === null || key_id === null) return undefined;
  return { version, tokens: { keyId: key_id, text: tokens }, problem: problem ?? undefined };
}
