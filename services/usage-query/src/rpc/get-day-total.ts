import { GatewayError } from '@gateway/errors';
import type { GetDayTotalRequest } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { UsageQuery } from '../usage-query.ts';

/** Tokens of one token on one local day: what the limiter's counter must stand at. */
export async function getDayTotal({ reader }: UsageQuery, { tokenId, localDay }: GetDayTotalRequest) {
  if (tokenId === '') throw new GatewayError('invalid_request', 'token_id is empty.');
  if (!/^\d{4}-\d{2}-\d{2}$/.test(localDay)) {
    throw new GatewayError('invalid_request', 'local_day must be a day such as 2026-11-20.');
  }
  return { totalTokens: BigInt(await reader.dayTotal(tokenId, localDay)) };
}
