import { create } from '@bufbuild/protobuf';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { type ErrorDetail, ErrorDetailSchema } from '@gateway/proto/error/v1/error_detail_pb.js';

/** The limits a token can have, by their public names. @see spec "Token limits" */
export type LimitName = 'requests_per_minute' | 'tokens_per_day';

/** Every code of the public error table. @see spec "Codes" */
export const gatewayErrorCodes = [
  'invalid_request',
  'invalid_json',
  'invalid_body',
  'unsupported_content',
  'upstream_rejected',
  'unauthorized',
  'model_not_found',
  'not_found',
  'method_not_allowed',
  'body_too_large',
  'unsupported_encoding',
  'rate_limit_exceeded',
  'pool_exhausted',
  'providers_unavailable',
  'subscription_unavailable',
  'internal_error',
] as const;

export type GatewayErrorCode = (typeof gatewayErrorCodes)[number];

export interface GatewayErrorDetails {
  /** Which limit was hit; only with `rate_limit_exceeded`. */
  readonly limit?: LimitName | undefined;
  /** Epoch milliseconds from which a next try can succeed. */
  readonly retryAtMs?: number | undefined;
  /** The provider's HTTP status; with `upstream_rejected` it is the client's status too. */
  readonly upstreamStatus?: number | undefined;
  /** A code of the provider's on which client libraries act, from a fixed list: never free text. */
  readonly upstreamCode?: string | undefined;
  /** True when trying again can't help and costs: client libraries are asked not to. Known where it is thrown only. */
  readonly isFinal?: boolean | undefined;
  /** The original fault. It goes to the log, never to a client. */
  readonly cause?: unknown;
}

/**
 * A failure in the words of the public API. Thrown anywhere, carried over RPC whole, rendered in one file of the edge.
 * The message is written for the caller: no provider text, no secret, no account name.
 */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly code: GatewayErrorCode;
  readonly limit: LimitName | undefined;
  readonly retryAtMs: number | undefined;
  readonly upstreamStatus: number | undefined;
  readonly upstreamCode: string | undefined;
  readonly isFinal: boolean;

  constructor(code: GatewayErrorCode, message: string, details: GatewayErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.limit = details.limit;
    this.retryAtMs = details.retryAtMs;
    this.upstreamStatus = details.upstreamStatus;
    this.upstreamCode = details.upstreamCode;
    this.isFinal = details.isFinal ?? false;
  }
}

/** Anything thrown, as a GatewayError: what is not one becomes `internal_error` without its own text. */
export function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return new GatewayError('internal_error', 'The gateway failed to handle the request.', { cause: thrown });
}

export function isGatewayErrorCode(text: string): text is GatewayErrorCode {
  const known: readonly string[] = gatewayErrorCodes;
  return known.includes(text);
}

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
