import { create } from '@bufbuild/protobuf';
import { type ErrorDetail, ErrorDetailSchema } from '@gateway/proto/error/v1/error_detail_pb.js';

/** The limits of a token and its group, by their public names. @see spec "Token limits" */
export const limitNames = [
  'requests_per_minute',
  'tokens_per_day',
  'group_requests_per_minute',
  'group_tokens_per_day',
  'budget',
  'concurrency',
] as const;

export type LimitName = (typeof limitNames)[number];

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
  /** The limit that was reached; only with `rate_limit_exceeded`. */
  readonly limit?: LimitName | undefined;
  /** How long to wait before a retry: a duration, because the clocks of services differ. */
  readonly retryAfterMs?: number | undefined;
  /**
   * What texts show as the instant of the retry. Known only where the error is thrown; otherwise it
   * is computed where the error is rendered.
   */
  readonly retryAtMs?: number | undefined;
  /** The provider's HTTP status; with `upstream_rejected` it is also the status for the client. */
  readonly upstreamStatus?: number | undefined;
  /** A provider's code that client libraries act on, from a fixed list: never free text. */
  readonly upstreamCode?: string | undefined;
  /**
   * True when a retry can't help and would cost: client libraries are asked not to retry. Known
   * only where the error is thrown.
   */
  readonly isFinal?: boolean;
  /** The original error. It is logged and never sent to a client. */
  readonly cause?: unknown;
}

/**
 * An error of the public API. Any code may throw it; RPCs carry it unchanged; one file of the edge
 * renders it. The message is written for the caller: no provider text, no secret, no account name.
 */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly code: GatewayErrorCode;
  readonly limit: LimitName | undefined;
  readonly retryAfterMs: number | undefined;
  readonly retryAtMs: number | undefined;
  readonly upstreamStatus: number | undefined;
  readonly upstreamCode: string | undefined;
  readonly isFinal: boolean;

  constructor(code: GatewayErrorCode, message: string, details: GatewayErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.limit = details.limit;
    this.retryAfterMs = details.retryAfterMs;
    this.retryAtMs = details.retryAtMs;
    this.upstreamStatus = details.upstreamStatus;
    this.upstreamCode = details.upstreamCode;
    this.isFinal = details.isFinal ?? false;
  }
}

/**
 * The error of a request that the gateway has no time or room for at the moment. By the time of the
 * retry, what it waited for has usually come.
 */
export function notNow(message: string, cause?: unknown): GatewayError {
  return new GatewayError('providers_unavailable', message, { cause, retryAfterMs: notNowRetryMs });
}

export const notNowRetryMs = 5_000;

/**
 * Converts anything thrown to a GatewayError. Other errors become `internal_error`, without their
 * own message.
 */
export function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return new GatewayError('internal_error', 'The gateway failed to handle the request.', { cause: thrown });
}

/**
 * Whether an error means that a backend gave no answer, and not that it refused. The same call may
 * succeed later.
 */
export function isNoAnswer(thrown: unknown): boolean {
  return thrown instanceof Error && (noAnswers.has(thrown) || thrown.name === 'TimeoutError');
}

/** Remembers the error of a connection: it looks like any other network error. */
export function noteNoAnswer(thrown: unknown): void {
  if (thrown instanceof Error) noAnswers.add(thrown);
}

const noAnswers = new WeakSet<Error>();

export function isGatewayErrorCode(text: string): text is GatewayErrorCode {
  const known: readonly string[] = gatewayErrorCodes;
  return known.includes(text);
}

/** Converts a GatewayError to its form between services. */
export function toErrorDetail({ code, message, limit, retryAfterMs, ...upstream }: GatewayError): ErrorDetail {
  const { upstreamStatus, upstreamCode } = upstream;
  return create(ErrorDetailSchema, { code, message, limit, retryAfterMs, upstreamStatus, upstreamCode });
}

/**
 * Restores a GatewayError that a service sent. An unknown code from a newer service becomes
 * `internal_error`.
 */
export function fromErrorDetail(detail: ErrorDetail): GatewayError {
  const code = isGatewayErrorCode(detail.code) ? detail.code : 'internal_error';
  return new GatewayError(code, detail.message, {
    limit: toLimitName(detail.limit),
    retryAfterMs: detail.retryAfterMs,
    upstreamStatus: detail.upstreamStatus,
    upstreamCode: detail.upstreamCode,
  });
}

function toLimitName(text: string | undefined): LimitName | undefined {
  return limitNames.find((name) => name === text);
}
