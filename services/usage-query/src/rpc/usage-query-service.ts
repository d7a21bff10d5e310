import { type GatewayDatabase, isPostgres, summedColumns, totalsOf } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import type { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { Clock } from '@gateway/time';
import type { LedgerProgress } from '@gateway/usage-stream';
import { sql } from 'kysely';
import { daysOfPeriods, usagePeriods } from '../periods/usage-periods.ts';
import { requireLocalDay } from '../report/daily-sums.ts';

export interface UsageQueryParts {
  readonly database: GatewayDatabase;
  readonly clock: Clock;
  /** How long to wait for the ledger. */
  readonly waitMs: number;
  /** Absent when usage is written directly to the ledger. */
  readonly progress?: Pick<LedgerProgress, 'untilRecorded'> | undefined;
  readonly onLate: (fault: unknown) => void;
}

/** More than a limiter has pending for one token and day. */
const maxRequestIds = 10_000;

export function usageQueryHandlers(parts: UsageQueryParts): Handlers<typeof UsageQueryService> {
  const { database, clock, waitMs, progress, onLate } = parts;
  return {
    /**
     * Usage of one token today and in the last seven local days, including all requests that ended
     * before the call.
     */
    async getUsage({ tokenId }) {
      requireTokenId(tokenId);
      // When the ledger lags, incomplete usage is better than none.
      await progress?.untilRecorded(waitMs).catch(onLate);
      const nowMs = clock.nowMs();
      const { first, today } = daysOfPeriods(nowMs);
      const rows = await database
        .selectFrom('usage_daily')
        .select(['local_day', 'provider', 'model', ...summedColumns])
        .where('token_id', '=', tokenId)
        .where('local_day', '>=', first)
        .where('local_day', '<=', today)
        // A repair may have reduced a row to zeros.
        .where((row) => row.or(summedColumns.map((column) => row(column, '<>', 0))))
        .execute();
      const days = rows.map((row) => ({ ...row, localDay: row.local_day, totals: totalsOf(row) }));
      return usagePeriods(days, nowMs);
    },

    /**
     * The tokens that one token used on one local day, and which of these requests they include,
     * read in one statement. The limiter's counter must match this.
     */
    async getDayTotal({ tokenId, localDay, requestIds }) {
      requireTokenId(tokenId);
      requireLocalDay('local_day', localDay);
      if (requestIds.length > maxRequestIds) {
        throw new GatewayError('invalid_request', `request_ids must have at most ${maxRequestIds} ids.`);
      }
      const asked = [...new Set(requestIds)];
      // One row without a place for the day, and one for each request that the ledger lacks: almost
      // all are there.
      const { rows } = await sql<{ readonly place: number | null; readonly total: number }>`
        select cast(null as bigint) as place, cast(coalesce(sum(input_tokens + output_tokens), 0) as bigint) as total
        from usage_daily where token_id = ${tokenId} and local_day = ${localDay}
        union all
        select asked.key, 0 from ${rowsOf(database, asked)} as asked
        where not exists (
          select 1 from usage_events where local_day = ${localDay} and request_id = asked.value and token_id = ${tokenId}
        )`.execute(database);
      const missing = new Set(rows.map(({ place }) => place));
      return {
        totalTokens: BigInt(rows.find(({ place }) => place === null)?.total ?? 0),
        includedRequestIds: asked.filter((_, place) => !missing.has(place)),
      };
    },
  };
}

function requireTokenId(tokenId: string): void {
  if (tokenId === '') throw new GatewayError('invalid_request', 'token_id is empty.');
}

/**
 * Texts with their position, counted from 0. They are one parameter, because limiters ask about
 * thousands at a time.
 */
function rowsOf(database: GatewayDatabase, texts: readonly string[]) {
  if (!isPostgres(database)) return sql`json_each(${JSON.stringify(texts)})`;
  return sql`(select place - 1 as key, text as value from unnest(${texts}::text[]) with ordinality as given(text, place))`;
}
