import { fromJson, type JsonValue, type MessageInitShape } from '@bufbuild/protobuf';
import type { GatewayDatabase, UsageEventsTable } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import { type UsagePart, UsagePartSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { RequestEnding, type RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import type { UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import { addLocalDays, isLocalDay, localDayOf } from '@gateway/time';
import { type Selectable, sql } from 'kysely';
import { reportUsage } from '../report/report-usage.ts';
import type { RequestFeed } from '../request-log/request-feed.ts';
import { timesOfId } from '../request-log/request-id.ts';
import { entryColumns, readLogged, readSearch } from '../request-log/request-search.ts';
import { searchPage } from '../request-log/search-pages.ts';
import type { LogKey } from '../request-log/search-walk.ts';

const usualPageSize = 20;
const maxPageSize = 1_000;
/** A person can't read more at once. */
const maxAtOnce = 100;

export function usageReportHandlers(database: GatewayDatabase, feed: RequestFeed): Handlers<typeof UsageReportService> {
  return {
    reportUsage: (request) => reportUsage(database, request),

    /** The data of one request in the ledger and in the request log. */
    async findRequest({ requestId }) {
      const times = requestId.length === 36 ? timesOfId(requestId) : undefined;
      if (times === undefined) throw new GatewayError('invalid_request', 'request_id is not a valid request id.');
      const day = localDayOf(times.firstMs);
      // It is stored under the day of its id or an adjacent one.
      const days = [addLocalDays(day, -1), day, addLocalDays(day, 1)];
      const isAsked = sql<boolean>`local_day in (${sql.join(days)}) and request_id = ${requestId}`;
      const [recorded, logged] = await Promise.all([
        database.selectFrom('usage_events').selectAll().where(isAsked).executeTakeFirst(),
        database
          .selectFrom('request_log')
          .select([...entryColumns, 'logged_at_ms'])
          .where(isAsked)
          .executeTakeFirst(),
      ]);
      const loggedAtMs = logged?.logged_at_ms ?? undefined;
      const entry = logged && readLogged(logged);
      return {
        request: entry ?? (recorded && toRecord(recorded)),
        inLedger: recorded !== undefined,
        // An older release did not record it.
        loggedAtMs,
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

/** A request that the log leaves out, or no longer has. */
function toRecord(row: Selectable<UsageEventsTable>): MessageInitShape<typeof RequestRecordedSchema> {
  const { provider, model, account_id: accountId } = row;
  const usage = {
    inputTokens: row.input_tokens,
    cachedTokens: row.cached_tokens,
    outputTokens: row.output_tokens,
    reasoningTokens: row.reasoning_tokens,
    estimated: row.estimated === 1,
    cacheWrite5mTokens: row.cache_write_5m_tokens,
    cacheWrite1hTokens: row.cache_write_1h_tokens,
    parts: partsIn(row.parts),
  };
  const cost = row.cost_micros === null ? {} : { costMicros: row.cost_micros };
  return {
    requestId: row.request_id,
    tokenId: row.token_id,
    groupId: row.group_id,
    admittedAtMs: row.admitted_at_ms,
    localDay: row.local_day,
    endpoint: row.endpoint,
    ending: endings[row.outcome],
    attempts: [{ provider, model, accountId, usage, ...cost }],
  };
}

function partsIn(text: string | null): UsagePart[] {
  const parts: JsonValue[] = text === null ? [] : JSON.parse(text);
  return parts.map((part) => fromJson(UsagePartSchema, part, { ignoreUnknownFields: true }));
}

const endings: Readonly<Record<UsageEventsTable['outcome'], RequestEnding>> = {
  completed: RequestEnding.COMPLETED,
  aborted: RequestEnding.ABORTED,
  failed: RequestEnding.FAILED,
  lost: RequestEnding.UNSPECIFIED,
  given_up: RequestEnding.FAILED,
};
