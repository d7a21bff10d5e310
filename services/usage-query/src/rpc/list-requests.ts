import { timestampMs } from '@bufbuild/protobuf/wkt';
import { GatewayError } from '@gateway/errors';
import { RequestEnding } from '@gateway/proto/usage/v1/request_log_pb.js';
import { type ListRequestsRequest, RequestFilter } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import type { RequestLogReader, RequestQuery } from '../store/request-log-reader.ts';

const usualRequests = 20;
const maxRequests = 1_000;

/** Requests of the log that match, newest first. */
export async function listRequests(log: RequestLogReader, request: Omit<ListRequestsRequest, '$typeName'>) {
  const { tokenId, model, since, until, limit } = request;
  if (limit > maxRequests) throw new GatewayError('invalid_request', `limit is ${maxRequests} at most.`);
  const requests = await log.list({
    ...matching(request.filter),
    ...(tokenId === '' ? {} : { tokenId }),
    ...(model === '' ? {} : { model }),
    ...(since === undefined ? {} : { sinceMs: timestampMs(since) }),
    ...(until === undefined ? {} : { untilMs: timestampMs(until) }),
    limit: limit === 0 ? usualRequests : limit,
  });
  return { requests };
}

function matching(filter: RequestFilter): Omit<RequestQuery, 'limit'> {
  switch (filter) {
    case RequestFilter.UNSPECIFIED:
      return {};
    case RequestFilter.MOVED:
      return { moved: true };
    case RequestFilter.SLOW:
      return { slow: true };
    case RequestFilter.FAILED:
      return { ending: RequestEnding.FAILED };
    case RequestFilter.REFUSED:
      return { ending: RequestEnding.REFUSED };
    case RequestFilter.ABORTED:
      return { ending: RequestEnding.ABORTED };
    default:
      throw new GatewayError('invalid_request', 'filter is not known.');
  }
}
