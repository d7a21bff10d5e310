import { clone, create } from '@bufbuild/protobuf';
import type { RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { type RequestSearch, RequestSearchSchema } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { invalidFields } from '../rpc/problems.ts';
import type { TokenNames } from './token-names.ts';

/** Requests with the labels of their tokens. */
export async function requestListings(names: TokenNames, requests: readonly RequestRecorded[], signal: AbortSignal) {
  const labels = await names.labelsOf(
    requests.map(({ tokenId }) => tokenId),
    signal,
  );
  return requests.map((request) => ({ request, tokenLabel: labels.get(request.tokenId) ?? '' }));
}

/**
 * A search with the ids of the tokens that a text means, if there is one. @throws ConnectError if
 * it means none.
 */
export async function searchWithToken(
  names: TokenNames,
  search: RequestSearch | undefined,
  token: string,
  signal: AbortSignal,
) {
  const text = token.trim();
  if (text === '') return search;
  const tokenIds = [...(await names.idsNamed(text, signal))];
  if (tokenIds.length === 0) throw invalidFields({ token: `No token has the id or label ${text}.` });
  const meant = search === undefined ? create(RequestSearchSchema) : clone(RequestSearchSchema, search);
  meant.tokenIds = tokenIds;
  return meant;
}
