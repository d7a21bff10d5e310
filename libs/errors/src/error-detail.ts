import { create } from '@bufbuild/protobuf';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { type ErrorDetail, ErrorDetailSchema } from '@gateway/proto/error/v1/error_detail_pb.js';
import { GatewayError, isGatewayErrorCode, type LimitName } from './gateway-error.ts';

/** A GatewayError as it travels between services. */
export function toErrorDetail({ code, message, limit, retryAtMs, ...upstream }: GatewayError): ErrorDetail {
  const retryAt = retryAtMs === undefined ? undefined : timestampFromMs(retryAtMs);
  const { upstreamStatus, upstreamCode } = upstream;
  return create(ErrorDetailSchema, { code, message, limit, retryAt, upstreamStatus, upstreamCode });
}

/** The GatewayError that a service sent. A code from a newer service than this one becomes `internal_error`. */
export function fromErrorDetail(detail: ErrorDetail): GatewayError {
  const code = isGatewayErrorCode(detail.code) ? detail.code : 'internal_error';
  return new GatewayError(code, detail.message, {
    limit: toLimitName(detail.limit),
    retryAtMs: detail.retryAt === undefined ? undefined : timestampMs(detail.retryAt),
    upstreamStatus: detail.upstreamStatus,
    upstreamCode: detail.upstreamCode,
  });
}

function toLimitName(text: string | undefined): LimitName | undefined {
  return text === 'requests_per_minute' || text === 'tokens_per_day' ? text : undefined;
}
