import type { Database, GatewayDatabase } from '@gateway/database';
import { addLocalDays, type LocalDay } from '@gateway/time';
import { type SelectQueryBuilder, sql } from 'kysely';
import { sumOf, type UsageTotals } from '../periods/usage-periods.ts';

export interface ReportPage {
  readonly first: LocalDay;
  readonly last: LocalDay;
  /** Absent: all tokens. */
  readonly tokenId?: string;
  /** What the page before gave as `next`; empty for the first page. */
  readonly after: string;
}

/** Sums, and the part of the key that they are grouped by. */
export interface ReportRow {
  readonly localDay?: LocalDay;
  readonly tokenId?: string;
  readonly provider?: string;
  readonly model?: string;
  readonly totals: UsageTotals;
}

export interface ReportRows {
  readonly rows: readonly ReportRow[];
  /** Absent on the last page. */
  readonly next?: string;
}

/** One statement sums up so many days at most, so that none takes long however many tokens there are. */
const daysAtATime = 31;
const tokensAtATime = 1_000;

/** Sums of the daily sums, in SQLite or Postgres. A page is read from an index; none needs more memory than its rows. */
export class UsageReport {
  readonly #database: GatewayDatabase;

  constructor(database: GatewayDatabase) {
    this.#database = database;
  }

  /** A page is a month of days. */
  async byDay(page: ReportPage): Promise<ReportRows> {
    const first = page.after === '' ? page.first : page.after;
    const last = earlier(addLocalDays(first, daysAtATime - 1), page.last);
    const rows = await this.#sums({ ...page, first, last })
      .select('local_day')
      .groupBy('local_day')
      .orderBy('local_day')
      .execute();
    return {
      rows: rows.map((row) => ({ localDay: row.local_day, totals: toTotals(row) })),
      ...(last < page.last ? { next: addLocalDays(last, 1) } : {}),
    };
  }

  async byToken(page: ReportPage): Promise<ReportRows> {
    const rows = await this.#sums(page)
      .select('token_id')
      .where('token_id', '>', page.after)
      .groupBy('token_id')
      .orderBy('token_id')
      .limit(tokensAtATime)
      .execute();
    const last = rows.at(-1);
    return {
      rows: rows.map((row) => ({ tokenId: row.token_id, totals: toTotals(row) })),
      ...(last !== undefined && rows.length === tokensAtATime ? { next: last.token_id } : {}),
    };
  }

  /** Models are few: there is one page. */
  async byModel(page: ReportPage): Promise<ReportRows> {
    const sums = new Map<string, ReportRow>();
    for (let first = page.first; first <= page.last; first = addLocalDays(first, daysAtATime)) {
      const last = earlier(addLocalDays(first, daysAtATime - 1), page.last);
      const rows = await this.#sums({ ...page, first, last })
        .select(['provider', 'model'])
        .groupBy(['provider', 'model'])
        .execute();
      for (const row of rows) {
        const key = JSON.stringify([row.provider, row.model]);
        const known = sums.get(key);
        const totals = known === undefined ? toTotals(row) : sumOf(known.totals, toTotals(row));
        sums.set(key, { provider: row.provider, model: row.model, totals });
      }
    }
    return { rows: [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row) };
  }

  #sums({ first, last, tokenId }: ReportPage): SelectQueryBuilder<Database, 'usage_daily', SummedColumns> {
    return this.#database
      .selectFrom('usage_daily')
      .select([
        sumOfColumn('requests'),
        sumOfColumn('input_tokens'),
        sumOfColumn('cached_tokens'),
        sumOfColumn('output_tokens'),
      ])
      .where('local_day', '>=', first)
      .where('local_day', '<=', last)
      .$if(tokenId !== undefined, (query) => query.where('token_id', '=', tokenId ?? ''));
  }
}

interface SummedColumns {
  readonly requests: number;
  readonly input_tokens: number;
  readonly cached_tokens: number;
  readonly output_tokens: number;
}

function sumOfColumn<C extends keyof SummedColumns>(column: C) {
  return sql<number>`cast(sum(${sql.ref(column)}) as bigint)`.as(column);
}

function toTotals({ requests, input_tokens, cached_tokens, output_tokens }: SummedColumns): UsageTotals {
  return { requests, inputTokens: input_tokens, cachedTokens: cached_tokens, outputTokens: output_tokens };
}

function earlier(a: LocalDay, b: LocalDay): LocalDay {
  return a < b ? a : b;
}
