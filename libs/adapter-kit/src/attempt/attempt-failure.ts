import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { GatewayError, toErrorDetail } from '@gateway/errors';
import type { ExecuteOutcomeSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { UpstreamFailure } from '../provider-format.ts';
import type { UpstreamError, UpstreamErrorKind } from '../upstream/upstream-error.ts';

/** The failure of an exchange that broke off. */
export function failureOfExchange(error: UpstreamError): UpstreamFailure {
  return plainFailure(resultOfKind[error.kind], error);
}

const resultOfKind: Record<UpstreamErrorKind, AttemptResult> = {
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

/** A failed attempt as the caller is told. `error` is for the client, should no other attempt be made. */
export function failedOutcome(
  { result, retryAtMs, modelScoped, upstreamStatus }: UpstreamFailure,
  error: GatewayError,
): MessageInitShape<typeof ExecuteOutcomeSchema> {
  return {
    attempt: {
      result,
      retryAt: retryAtMs === undefined ? undefined : timestampFromMs(retryAtMs),
      modelScoped,
      upstreamStatus,
    },
    error: toErrorDetail(error),
  };
}
