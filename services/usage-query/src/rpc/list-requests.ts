import type { GatewayDatabase } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import type { ListRequestsRequest } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { isLocalDay } from '@gateway/time';
import { readSearch } from '../request-log/request-search.ts';
import { searchPage } from '../request-log/search-pages.ts';
import type { LogKey } from '../request-log/search-walk.ts';

const usualPageSize = 20;
const maxPageSize = 1_000;

/** Requests of the log that match, newest first. What is added to the log meanwhile does not move the pages that follow. */
export async function listRequests(
  database: GatewayDatabase,
  { search, pageSize, pageToken }: Omit<ListRequestsRequest, '$typeName'>,
) {
  if (pageSize > maxPageSize) throw new GatewayError('invalid_request', `page_size is ${maxPageSize} at most.`);
  const order = { size: pageSize === 0 ? usualPageSize : pageSize, before: readPageToken(pageToken) };
  const { requests, next } = await searchPage(database, readSearch(search), order);
  return { requests: [...requests], nextPageToken: next === undefined ? '' : `${next.localDay} ${next.requestId}` };
}

function readPageToken(text: string): LogKey | undefined {
  if (text === '') return undefined;
  const [localDay, requestId] = [text.slice(0, 10), text.slice(11)];
  if (isLocalDay(localDay) && requestId !== '') return { localDay, requestId };
  throw new GatewayError('invalid_request', 'page_token is none that a page before gave.');
}
