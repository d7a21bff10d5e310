import { type GatewayDatabase, totalsOf } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import type { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import { epochMs } from '@gateway/time';
import type { LedgerProgress } from '@gateway/usage-stream';
import { sql } from 'kysely';
import { daysOfPeriods, usagePeriods } from '../periods/usage-periods.ts';
import { requireLocalDay, sumsOfDays } from '../report/daily-sums.ts';
import { daysOfIds, totalWithRequests } from '../totals/total-with-requests.ts';
import { TypicalOutput } from '../totals/typical-output.ts';

export interface UsageQueryParts {
  readonly database: GatewayDatabase;
  /** How long to wait for the ledger. */
  readonly waitMs: number;
  /** Absent when usage is written directly to the ledger. */
  readonly progress?: Pick<LedgerProgress, 'untilRecorded'> | undefined;
  readonly onLate: (fault: unknown) => void;
}

export function usageQueryHandlers(parts: UsageQueryParts): Handlers<typeof UsageQueryService> {
  const { database, waitMs, progress, onLate } = parts;
  const typicalOutput = new TypicalOutput(database);
  return {
    /**
     * Usage of one token today and in the last seven local days, including all requests that ended
     * before the call.
     */
    async getUsage({ tokenId }) {
      requireId('token_id', tokenId);
      // When the ledger lags, incomplete usage is better than none.
      await progress?.untilRecorded(waitMs).catch(onLate);
      const nowMs = epochMs();
      const { first, today } = daysOfPeriods(nowMs);
      const fields = ['localDay', 'provider', 'model'] as const;
      const rows = await sumsOfDays(database, { first, last: today, tokenId, fields });
      const days = rows.map(({ key: [localDay = '', provider = '', model = ''], sums }) => ({
        ...{ localDay, provider, model, totals: totalsOf(sums) },
      }));
      return usagePeriods(days, nowMs);
    },

    /**
     * The tokens that one token used on one local day, and which of these requests they include,
     * read in one statement. The limiter's counter must match this.
     */
    async getDayTotal({ tokenId, localDay, requestIds }) {
      requireId('token_id', tokenId);
      requireLocalDay('local_day', localDay);
      const { sums, included } = await totalWithRequests(database, {
        sumsOf: sql`usage_daily where token_id = ${tokenId} and local_day = ${localDay}`,
        isOfThem: sql`local_day = ${localDay} and token_id = ${tokenId}`,
        requestIds,
      });
      return { totalTokens: sums.tokens, includedRequestIds: included };
    },

    /** The same of a group over local days, with its cost. */
    async getGroupTotal({ groupId, firstDay, lastDay, requestIds }) {
      requireId('group_id', groupId);
      requireLocalDay('first_day', firstDay);
      requireLocalDay('last_day', lastDay);
      const period = sql`local_day >= ${firstDay} and local_day <= ${lastDay}`;
      // A period has many days, and the requests are of one or two of them.
      const days = daysOfIds(requestIds) ?? [];
      const ofIds = days.length === 0 ? sql`1 = 1` : sql`local_day in (${sql.join(days)})`;
      const { sums, included } = await totalWithRequests(database, {
        sumsOf: sql`usage_daily where group_id = ${groupId} and ${period}`,
        isOfThem: sql`group_id = ${groupId} and ${period} and ${ofIds}`,
        requestIds,
      });
      return { totalTokens: sums.tokens, costMicros: sums.costMicros, includedRequestIds: included };
    },

    getTypicalOutput: async () => ({ models: [...(await typicalOutput.read())] }),
  };
}

function requireId(field: string, id: string): void {
  if (id === '') throw new GatewayError('invalid_request', `${field} is empty.`);
}
