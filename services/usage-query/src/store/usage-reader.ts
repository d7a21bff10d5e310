import type { GatewayDatabase, UsageEventsTable } from '@gateway/database';
import { addLocalDays, type LocalDay, localDayOf } from '@gateway/time';
import type { DailyUsage } from '../periods/usage-periods.ts';
import { dayTotalQuery } from './day-total-query.ts';

/** What the ledger has of a request. */
export type LedgerRequest = UsageEventsTable;

/** Local days, first and last. */
export interface DayRange {
  readonly first: LocalDay;
  readonly last: LocalDay;
}

export interface DaysOfToken extends DayRange {
  readonly tokenId: string;
}

export interface DayTotal {
  /** Input plus output. */
  readonly totalTokens: number;
  /** Those of the requests asked for whose tokens are in the total, in the order given. */
  readonly included: readonly string[];
}

/** Reads the ledger and its daily sums, in SQLite or Postgres. */
export class UsageReader {
  readonly #database: GatewayDatabase;

  constructor(database: GatewayDatabase) {
    this.#database = database;
  }

  /** What a token used, for each day and model. */
  async days({ tokenId, first, last }: DaysOfToken): Promise<readonly DailyUsage[]> {
    const rows = await this.#database
      .selectFrom('usage_daily')
      .select(['local_day', 'provider', 'model', 'requests', 'input_tokens', 'cached_tokens', 'output_tokens'])
      .where('token_id', '=', tokenId)
      .where('local_day', '>=', first)
      .where('local_day', '<=', last)
      .execute();
    return rows.map((row) => ({
      localDay: row.local_day,
      provider: row.provider,
      model: row.model,
      totals: {
        requests: row.requests,
        inputTokens: row.input_tokens,
        cachedTokens: row.cached_tokens,
        outputTokens: row.output_tokens,
      },
    }));
  }

  /** The tokens of a token on one day, and which of its requests are among them: as one statement saw it. */
  async dayTotal(tokenId: string, localDay: LocalDay, requestIds: readonly string[]): Promise<DayTotal> {
    const query = dayTotalQuery(this.#database, tokenId, localDay, requestIds);
    const { rows } = await this.#database.executeQuery(query);
    const missing = new Set(rows.map(({ missing_index }) => missing_index));
    return {
      totalTokens: rows.find(({ missing_index }) => missing_index === null)?.total ?? 0,
      included: requestIds.filter((_, index) => !missing.has(index)),
    };
  }

  /** @param madeAtMs when the request was given its id: it is kept with that day, or one beside it. */
  async find(requestId: string, madeAtMs: number): Promise<LedgerRequest | undefined> {
    const day = localDayOf(madeAtMs);
    return await this.#database
      .selectFrom('usage_events')
      .selectAll()
      .where('local_day', 'in', [addLocalDays(day, -1), day, addLocalDays(day, 1)])
      .where('request_id', '=', requestId)
      .executeTakeFirst();
  }
}
