import { GatewayError } from '@gateway/errors';
import type { GetDayTotalRequest } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { UsageReader } from '../store/usage-reader.ts';
import { requireLocalDay } from './messages.ts';

/** More than a limiter has of one token and day between the end of a request and its place in the ledger. */
const maxRequestIds = 10_000;

/** Tokens of one token on one local day: what the limiter's counter must stand at. */
export async function getDayTotal(reader: UsageReader, { tokenId, localDay, requestIds }: GetDayTotalRequest) {
  if (tokenId === '') throw new GatewayError('invalid_request', 'token_id is empty.');
  requireLocalDay('local_day', localDay);
  if (requestIds.length > maxRequestIds) {
    throw new GatewayError('invalid_request', `request_ids takes ${maxRequestIds} ids at most.`);
  }
  const { totalTokens, included } = await reader.dayTotal(tokenId, localDay, [...new Set(requestIds)]);
  return { totalTokens: BigInt(totalTokens), includedRequestIds: [...included] };
}
