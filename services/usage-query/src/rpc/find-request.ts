import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { GatewayError } from '@gateway/errors';
import type { FindRequestRequest } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { Outcome, type UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { RequestLogReader } from '../store/request-log-reader.ts';
import type { LedgerRequest, UsageReader } from '../store/usage-reader.ts';

export interface RequestReaders {
  readonly reader: UsageReader;
  readonly log: RequestLogReader;
}

/** What the ledger and the request log have of one request. */
export async function findRequest(
  { reader, log }: RequestReaders,
  { requestId }: Pick<FindRequestRequest, 'requestId'>,
) {
  const madeAt = madeAtMs(requestId);
  const [recorded, logged] = await Promise.all([reader.find(requestId, madeAt), log.find(requestId, madeAt)]);
  return {
    ...(recorded === undefined ? {} : { request: toRecordedMessage(recorded) }),
    ...(logged === undefined ? {} : { log: logged }),
  };
}

/** Ids of requests say when they were made. @see RFC 9562, UUID version 7 */
function madeAtMs(requestId: string): number {
  const digits = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.exec(requestId);
  if (digits === null) throw new GatewayError('invalid_request', 'request_id is not the id of a request.');
  return Number.parseInt(`${digits[1]}${digits[2]}`, 16);
}

function toRecordedMessage(row: LedgerRequest): MessageInitShape<typeof UsageRecordedSchema> {
  return {
    requestId: row.request_id,
    tokenId: row.token_id,
    admittedAt: timestampFromMs(row.admitted_at_ms),
    localDay: row.local_day,
    endpoint: row.endpoint,
    provider: row.provider,
    model: row.model,
    inputTokens: BigInt(row.input_tokens),
    cachedTokens: BigInt(row.cached_tokens),
    outputTokens: BigInt(row.output_tokens),
    reasoningTokens: BigInt(row.reasoning_tokens),
    estimated: row.estimated === 1,
    outcome: outcomes[row.outcome],
  };
}

const outcomes: Readonly<Record<LedgerRequest['outcome'], Outcome>> = {
  completed: Outcome.COMPLETED,
  aborted: Outcome.ABORTED,
  failed: Outcome.FAILED,
  lost: Outcome.LOST,
};
