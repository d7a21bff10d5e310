import type { MessageInitShape } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import type { ExecuteResultSchema, UpstreamAnswerSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { msUntil } from '@gateway/time';
import { answerTooLarge } from '../failure/attempt-failure.ts';
import { failureCause } from '../failure/failure-cause.ts';
import type { AttemptFailure, ProviderAnswer } from '../format-definition.ts';
import type { UpstreamError, UpstreamErrorKind } from '../upstream/upstream-exchange.ts';

/** What ends a call of Execute. */
export type ExecuteResultInit = MessageInitShape<typeof ExecuteResultSchema>;

/** What a failed attempt reports about its account. */
export function failedAttempt(failure: AttemptFailure) {
  const { result, retryAtMs, modelScoped, problem, feature, upstreamStatus, error } = failure;
  const cause = failure.cause || failureCause(error.cause);
  const retry = retryAtMs !== undefined && { retryAtMs, retryAfterMs: msUntil(retryAtMs) };
  const details = { ...(problem !== undefined && { problem }), ...(feature !== undefined && { feature }) };
  return { result, modelScoped, upstreamStatus, cause, ...retry, ...details };
}

/**
 * The failure of an exchange that broke off. If the provider had begun to answer, the network
 * worked: a connection that breaks then counts against the account, like an answer that ends too
 * early.
 */
export function failureOfExchange(error: UpstreamError, answerBegan: boolean): AttemptFailure {
  if (error.kind === 'too_large') return answerTooLarge();
  const isBrokenAnswer = answerBegan && error.kind === 'network';
  return plainFailure(isBrokenAnswer ? AttemptResult.SERVER_ERROR : resultOfKind[error.kind], error);
}

const resultOfKind: Record<Exclude<UpstreamErrorKind, 'too_large'>, AttemptResult> = {
  network: AttemptResult.NETWORK_ERROR,
  timeout: AttemptResult.TIMEOUT,
  malformed: AttemptResult.SERVER_ERROR,
  cancelled: AttemptResult.CANCELLED,
};

/**
 * A failure that reports only its result. `upstreamStatus` is 0 unless the provider's status was
 * the cause.
 */
export function plainFailure(result: AttemptResult, cause: unknown, upstreamStatus = 0): AttemptFailure {
  return { result, retryAtMs: undefined, modelScoped: false, upstreamStatus, error: unavailable(cause) };
}

/** The client's error when the promised answer does not arrive. */
export function unavailable(cause: unknown): GatewayError {
  return new GatewayError('providers_unavailable', "The provider's answer is incomplete.", { cause });
}

/**
 * The error for a client that has the start of an answer: the provider's reason why there is no
 * more, if it gave one.
 */
export function brokenAnswer({ meaning = 'server_error', error }: AttemptFailure): GatewayError {
  if (meaning === 'server_error') return unavailable(error);
  return new GatewayError('providers_unavailable', error.message, { cause: error });
}

/**
 * What a client of a dialect that passes errors on may see of a failure. Two kinds are withheld:
 * refusals of the gateway's own credential, because a client would consider its token invalid, and
 * pages that an intermediary sent instead of the provider.
 */
export function answerToPassOn(failure: AttemptFailure): MessageInitShape<typeof UpstreamAnswerSchema> | undefined {
  const { answer } = failure;
  if (answer === undefined || isKeptBack(failure, answer)) return undefined;
  const { status, contentType, body } = answer;
  return { status, contentType, body: body.subarray(0, maxPassedBytes) };
}

const maxPassedBytes = 64 * 1024;

function isKeptBack({ result }: AttemptFailure, answer: ProviderAnswer): boolean {
  const { status } = answer;
  if (status === 402 || status === 403) return isPage(answer);
  return status === 401 || result === AttemptResult.UNAUTHORIZED;
}

function isPage({ contentType, body }: ProviderAnswer): boolean {
  return /\bhtml\b/i.test(contentType) || /^\s*</.test(Buffer.from(body.subarray(0, 100)).toString());
}
