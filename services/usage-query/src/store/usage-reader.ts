import type { GatewayDatabase } from '@gateway/database';
import { addLocalDays, type LocalDay } from '@gateway/time';
import type { DailyUsage } from '../periods/usage-periods.ts';
import { dayTotalQuery } from './day-total-query.ts';

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

  /** Those of the requests that are not in the ledger on any of the days, in the order given. */
  async missingRequests(requestIds: readonly string[], { first, last }: DayRange): Promise<readonly string[]> {
    if (requestIds.length === 0) return [];
    const rows = await this.#database
      .selectFrom('usage_events')
      .select('request_id')
      .where('local_day', 'in', daysOf({ first, last }))
      .where('request_id', 'in', requestIds)
      .execute();
    const present = new Set(rows.map(({ request_id }) => request_id));
    return requestIds.filter((id) => !present.has(id));
  }
}

/** Every day by name: each is looked up in its key. */
function daysOf({ first, last }: DayRange): LocalDay[] {
  const days: LocalDay[] = [];
  for (let day = first; day <= last; day = addLocalDays(day, 1)) days.push(day);
  return days;
}
