import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { GatewayDatabase } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import { RequestEnding } from '@gateway/proto/usage/v1/request_log_pb.js';
import { type ListRequestsRequest, RequestFilter } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { localDayOf } from '@gateway/time';
import { sql } from 'kysely';
import { readLogged } from './find-request.ts';

const usualRequests = 20;
const maxRequests = 1_000;

/** Requests of the log that match, newest first, read from the end of the key. */
export async function listRequests(database: GatewayDatabase, request: Omit<ListRequestsRequest, '$typeName'>) {
  const { filter, tokenId, model, since, until, limit } = request;
  if (limit > maxRequests) throw new GatewayError('invalid_request', `limit is ${maxRequests} at most.`);
  let query = database.selectFrom('request_log').select('entry');
  if (filter !== RequestFilter.UNSPECIFIED) {
    const condition = conditions[filter];
    if (condition === undefined) throw new GatewayError('invalid_request', 'filter is not known.');
    query = query.where(condition[0], '=', condition[1]);
  }
  if (tokenId !== '') query = query.where('token_id', '=', tokenId);
  if (model !== '') {
    const name = model.replaceAll(/[%_!]/g, '!$&');
    // Texts before and after it are line ends, so that only a whole name matches.
    query = query.where(sql<boolean>`models like ${`%\n${name}\n%`} escape '!'`);
  }
  if (since !== undefined) {
    const sinceMs = timestampMs(since);
    query = query.where('local_day', '>=', localDayOf(sinceMs)).where('received_at_ms', '>=', sinceMs);
  }
  if (until !== undefined) {
    const untilMs = timestampMs(until);
    query = query.where('local_day', '<=', localDayOf(untilMs)).where('received_at_ms', '<', untilMs);
  }
  const newestFirst = query.orderBy('local_day', 'desc').orderBy('request_id', 'desc');
  const rows = await newestFirst.limit(limit === 0 ? usualRequests : limit).execute();
  return { requests: rows.map(readLogged) };
}

/** Undefined for a number that a later release knows. */
const conditions: Readonly<Record<number, readonly ['moved' | 'slow' | 'ending', number] | undefined>> = {
  [RequestFilter.MOVED]: ['moved', 1],
  [RequestFilter.SLOW]: ['slow', 1],
  [RequestFilter.FAILED]: ['ending', RequestEnding.FAILED],
  [RequestFilter.REFUSED]: ['ending', RequestEnding.REFUSED],
  [RequestFilter.ABORTED]: ['ending', RequestEnding.ABORTED],
};
