import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { GatewayError, toErrorDetail } from '@gateway/errors';
import type { ExecuteOutcomeSchema, UpstreamAnswerSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { answerTooLarge } from '../failure/upstream-failure.ts';
import type { ProviderAnswer, UpstreamFailure } from '../provider-format.ts';
import type { UpstreamError, UpstreamErrorKind } from '../upstream/upstream-error.ts';
import type { QuotaReport } from './read-quotas.ts';

/** The failure of an exchange that broke off. */
export function failureOfExchange(error: UpstreamError): UpstreamFailure {
  return error.kind === 'too_large' ? answerTooLarge() : plainFailure(resultOfKind[error.kind], error);
}

const resultOfKind: Record<Exclude<UpstreamErrorKind, 'too_large'>, AttemptResult> = {
  network: AttemptResult.NETWORK_ERROR,
  timeout: AttemptResult.TIMEOUT,
  malformed: AttemptResult.SERVER_ERROR,
  cancelled: AttemptResult.CANCELLED,
};

/** A failure that says nothing but how the attempt ended. `upstreamStatus` is 0 unless the provider's status was at fault. */
export function plainFailure(result: AttemptResult, cause: unknown, upstreamStatus = 0): UpstreamFailure {
  return {
    result,
    retryAtMs: undefined,
    modelScoped: false,
    upstreamStatus,
    error: unavailable(cause),
  };
}

/** What a client is told when the answer it was promised does not come. */
export function unavailable(cause: unknown): GatewayError {
  return new GatewayError('providers_unavailable', 'The provider did not give a complete answer.', { cause });
}

export interface FailureDetails {
  readonly upstreamAnswer?: MessageInitShape<typeof UpstreamAnswerSchema> | undefined;
  /** What the answer told of the account's quotas. */
  readonly quotas?: QuotaReport;
}

/**
 * A failed attempt as the caller is told. `error` is for the client, should no other attempt be made; or
 * `upstreamAnswer`, where the dialect passes errors on.
 */
export function failedOutcome(
  { result, retryAtMs, modelScoped, problem, upstreamStatus }: UpstreamFailure,
  error: GatewayError,
  { upstreamAnswer, quotas = [] }: FailureDetails = {},
): MessageInitShape<typeof ExecuteOutcomeSchema> {
  return {
    attempt: {
      result,
      retryAt: retryAtMs === undefined ? undefined : timestampFromMs(retryAtMs),
      modelScoped,
      problem,
      upstreamStatus,
      windows: [...quotas],
    },
    error: toErrorDetail(error),
    upstreamAnswer,
  };
}

/**
 * What a client of a dialect that passes errors on may get of a failure. An answer that refuses the account says nothing
 * of the request, and may name the account: it is kept back.
 */
export function answerToPassOn({
  result,
  answer,
}: UpstreamFailure): MessageInitShape<typeof UpstreamAnswerSchema> | undefined {
  if (answer === undefined || result === AttemptResult.UNAUTHORIZED || refusesAccount(answer)) return undefined;
  const { status, contentType, body } = answer;
  return { status, contentType, body: body.subarray(0, maxPassedBytes) };
}

const maxPassedBytes = 64 * 1024;

function refusesAccount({ status }: ProviderAnswer): boolean {
  return status === 401 || status === 403;
}
