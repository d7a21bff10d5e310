import type { GatewayDatabase } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import type { UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import { addLocalDays, isLocalDay, localDayOf } from '@gateway/time';
import { reportUsage } from '../report/report-usage.ts';
import { requestInLedger } from '../report/request-in-ledger.ts';
import type { RequestFeed } from '../request-log/request-feed.ts';
import { timesOfId } from '../request-log/request-id.ts';
import { readRequest, readSearch, requestColumns } from '../request-log/request-search.ts';
import { searchPage } from '../request-log/search-pages.ts';
import type { LogKey } from '../request-log/search-walk.ts';

const usualPageSize = 20;
const maxPageSize = 1_000;
/** A person can't read more at once. */
const maxAtOnce = 100;

export function usageReportHandlers(database: GatewayDatabase, feed: RequestFeed): Handlers<typeof UsageReportService> {
  return {
    reportUsage: (request) => reportUsage(database, request),

    /** One request, of the request log or else of the ledger. */
    async findRequest({ requestId }) {
      const times = requestId.length === 36 ? timesOfId(requestId) : undefined;
      if (times === undefined) throw new GatewayError('invalid_request', 'request_id is not a valid request id.');
      const day = localDayOf(times.firstMs);
      // It is stored under the day of its id or an adjacent one.
      const days = [addLocalDays(day, -1), day, addLocalDays(day, 1)];
      const [inLedger, logged] = await Promise.all([
        requestInLedger(database, requestId, days),
        database
          .selectFrom('request_log')
          .select([...requestColumns, 'logged_at_ms'])
          .where('local_day', 'in', days)
          .where('request_id', '=', requestId)
          .executeTakeFirst(),
      ]);
      return {
        request: logged === undefined ? inLedger : readRequest(logged),
        inLedger: inLedger !== undefined,
        loggedAtMs: logged?.logged_at_ms,
      };
    },

    /**
     * Matching requests of the log, newest first. Requests that are added in the meantime do not
     * shift the following pages.
     */
    async listRequests({ search, pageSize, pageToken }) {
      if (pageSize > maxPageSize)
        throw new GatewayError('invalid_request', `page_size must be at most ${maxPageSize}.`);
      const order = { size: pageSize === 0 ? usualPageSize : pageSize, before: readPageToken(pageToken) };
      const { requests, next } = await searchPage(database, readSearch(search), order);
      return { requests, nextPageToken: next === undefined ? '' : `${next.localDay} ${next.requestId}` };
    },

    /**
     * Matching requests as they are added to the log. The first message is empty: every request
     * after it is delivered.
     */
    async *watchRequests({ search, mostAtOnce }, { signal }) {
      const ofAllTimes = readSearch(search && { ...search, sinceMs: undefined, untilMs: undefined });
      yield* feed.watch(ofAllTimes, Math.min(mostAtOnce || maxAtOnce, maxAtOnce), signal);
    },
  };
}

function readPageToken(text: string): LogKey | undefined {
  if (text === '') return undefined;
  const [localDay, requestId] = [text.slice(0, 10), text.slice(11)];
  if (isLocalDay(localDay) && requestId !== '') return { localDay, requestId };
  throw new GatewayError('invalid_request', 'page_token is invalid.');
}
