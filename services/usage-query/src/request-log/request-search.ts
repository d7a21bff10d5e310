import { create, fromBinary } from '@bufbuild/protobuf';
import type { RequestLogTable } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import {
  RequestEnding,
  type RequestRecorded,
  RequestRecordedSchema,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { RequestFilter, type RequestSearch } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { timesOfId } from './request-id.ts';

/** The criteria of a search. Their meaning is defined only here. */
export interface Search {
  /** All of them must match; without criteria, every request matches. */
  readonly criteria: readonly Criterion[];
  /** Determines the walk over the log. Empty or undefined: any. */
  readonly tokenIds: ReadonlySet<string>;
  readonly sinceMs: number | undefined;
  readonly untilMs: number | undefined;
  /** The start of the request's id, or of the client's own id. */
  readonly idPrefix: string;
  /** Only requests that failed, failed over or were slow. */
  readonly isUnusual: boolean;
}

interface Criterion {
  readonly matches: (request: RequestRecorded) => boolean;
  /** Excludes rows that can't match. SQLite includes some whose texts differ in case. */
  readonly where: Condition;
}

export type Condition = RawBuilder<SqlBool>;

/** The columns that have a request whole. */
export const requestColumns = ['request_id', 'entry_bytes'] as const;

/** @throws GatewayError for invalid criteria. */
export function readSearch(search: RequestSearch | undefined): Search {
  const { model = '', accountId = '', endpoint = '', requestId: idPrefix = '', status = 0, filter = 0 } = search ?? {};
  const filtered = filteredColumns[filter];
  if (filtered === undefined && filter !== RequestFilter.UNSPECIFIED) {
    throw new GatewayError('invalid_request', 'filter is unknown.');
  }
  const tokenIds = new Set(search?.tokenIds);
  const { sinceMs, untilMs } = search ?? {};
  if (![sinceMs, untilMs].every((atMs = 0) => Number.isSafeInteger(atMs))) {
    throw new GatewayError('invalid_request', 'since_ms and until_ms are whole milliseconds.');
  }
  const lastStatus = status === 400 || status === 500 ? status + 99 : status;
  const idLength = sql.lit(idPrefix.length);
  const criteria: readonly (Criterion | false | undefined)[] = [
    tokenIds.size > 0 && {
      matches: ({ tokenId }) => tokenIds.has(tokenId),
      where: sql`token_id in (${sql.join([...tokenIds])})`,
    },
    model !== '' && {
      matches: (request) => request.model === model || request.attempts.some((attempt) => attempt.model === model),
      where: hasLine('models', model),
    },
    ...(filtered ?? []).map(([column, value]) => ({
      matches: (request: RequestRecorded) => filteredValues[column](request) === value,
      where: sql<SqlBool>`${sql.ref(column)} = ${value}`,
    })),
    sinceMs !== undefined && {
      matches: ({ receivedAtMs = 0 }) => receivedAtMs >= sinceMs,
      where: sql`received_at_ms >= ${sinceMs}`,
    },
    untilMs !== undefined && {
      matches: ({ receivedAtMs = 0 }) => receivedAtMs < untilMs,
      where: sql`received_at_ms < ${untilMs}`,
    },
    accountId !== '' && {
      matches: ({ attempts }) => attempts.some((attempt) => attempt.accountId === accountId),
      where: hasLine('accounts', accountId),
    },
    endpoint !== '' && {
      matches: (request) => request.endpoint === endpoint,
      where: sql`endpoint = ${endpoint}`,
    },
    status !== 0 && {
      matches: (request) => request.status >= status && request.status <= lastStatus,
      where: sql`status between ${status} and ${lastStatus}`,
    },
    idPrefix !== '' && {
      matches: ({ requestId, clientRequestId }) => [requestId, clientRequestId].some((id) => id.startsWith(idPrefix)),
      where: sql`(substr(request_id, 1, ${idLength}) = ${idPrefix}
        or substr(client_request_id, 1, ${idLength}) = ${idPrefix})`,
    },
  ];
  const isUnusual = filtered !== undefined || status >= 400;
  const given = criteria.filter((criterion) => typeof criterion === 'object');
  return { criteria: given, tokenIds, sinceMs, untilMs, idPrefix, isUnusual };
}

export function matches({ criteria }: Search, request: RequestRecorded): boolean {
  return criteria.every((criterion) => criterion.matches(request));
}

/**
 * Decodes a request of the log. A damaged one is shown by what its id says, so that it never hides
 * the others.
 */
export function readRequest(row: Pick<RequestLogTable, (typeof requestColumns)[number]>): RequestRecorded {
  try {
    return fromBinary(RequestRecordedSchema, row.entry_bytes);
  } catch {
    const { request_id: requestId } = row;
    const receivedAtMs = timesOfId(requestId)?.firstMs;
    const damaged = { requestId, errorCode: 'log_entry_damaged' };
    return create(RequestRecordedSchema, receivedAtMs === undefined ? damaged : { ...damaged, receivedAtMs });
  }
}

const filteredValues = {
  moved: ({ attempts }: RequestRecorded) => Number(attempts.length > 1),
  slow: ({ slow }: RequestRecorded) => Number(slow),
  ending: ({ ending }: RequestRecorded) => ending,
};

type FilteredColumn = readonly [keyof typeof filteredValues, number];

/** Columns of the log and their values. Undefined for a number that only a later release knows. */
const filteredColumns: Readonly<Record<number, readonly FilteredColumn[] | undefined>> = {
  [RequestFilter.MOVED]: [
    ['moved', 1],
    ['ending', RequestEnding.COMPLETED],
  ],
  [RequestFilter.SLOW]: [['slow', 1]],
  [RequestFilter.FAILED]: [['ending', RequestEnding.FAILED]],
  [RequestFilter.REFUSED]: [['ending', RequestEnding.REFUSED]],
  [RequestFilter.ABORTED]: [['ending', RequestEnding.ABORTED]],
};

/** Every text in the column is enclosed in line feeds, so that only a whole text matches. */
function hasLine(column: 'models' | 'accounts', text: string): Condition {
  const escaped = text.replaceAll(/[%_!]/g, '!$&');
  return sql`${sql.ref(column)} like ${`%\n${escaped}\n%`} escape '!'`;
}
