import type { GatewayDatabase } from '@gateway/database';
import type { LocalDay } from '@gateway/time';
import { sql } from 'kysely';
import type { DailyUsage } from '../periods/usage-periods.ts';

export interface DaysOfToken {
  readonly tokenId: string;
  readonly first: LocalDay;
  readonly last: LocalDay;
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

  /** Input plus output tokens of a token on one day. */
  async dayTotal(tokenId: string, localDay: LocalDay): Promise<number> {
    const { total } = await this.#database
      .selectFrom('usage_daily')
      .select(sql<number>`cast(coalesce(sum(input_tokens + output_tokens), 0) as bigint)`.as('total'))
      .where('token_id', '=', tokenId)
      .where('local_day', '=', localDay)
      .executeTakeFirstOrThrow();
    return total;
  }

  /** Those of the requests that are not in the ledger, in the order given. */
  async missingRequests(requestIds: readonly string[]): Promise<readonly string[]> {
    if (requestIds.length === 0) return [];
    const rows = await this.#database
      .selectFrom('usage_events')
      .select('request_id')
      .where('request_id', 'in', requestIds)
      .execute();
    const present = new Set(rows.map(({ request_id }) => request_id));
    return requestIds.filter((id) => !present.has(id));
  }
}
