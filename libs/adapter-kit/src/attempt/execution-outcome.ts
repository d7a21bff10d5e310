import { create } from '@bufbuild/protobuf';
import type { GatewayError } from '@gateway/errors';
import { type ExecuteOutcome, ExecuteOutcomeSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AccountProblem, AttemptResult, QuotaWindowSchema } from '@gateway/proto/pool/v1/account_pb.js';
import type { UpstreamFailure } from '../provider-format.ts';
import { type FailureDetails, failedOutcome, unavailable } from './attempt-failure.ts';
import type { QuotaReport } from './read-quotas.ts';

export interface SuccessDetails {
  readonly upstreamStatus: number;
  readonly quotas: QuotaReport;
  readonly sealedReasoning: string;
  /** What the provider complained of before it was sent the request without; empty when it took it as it was. */
  readonly amended: string;
}

/** How an attempt ended whose client has a whole answer, which may end with the provider's word of a failure. */
export function wholeExecution(failure: UpstreamFailure | undefined, details: SuccessDetails): ExecuteOutcome {
  if (failure === undefined) return succeededExecution(details);
  const { quotas, amended } = details;
  const whole = { quotas, amended, answerBegan: true, answerComplete: true };
  return failedExecution(failure, unavailable(failure.error), whole);
}

function succeededExecution(details: SuccessDetails): ExecuteOutcome {
  const { upstreamStatus, quotas, sealedReasoning, amended } = details;
  return {
    $typeName: 'gateway.adapter.v1.ExecuteOutcome',
    attempt: {
      $typeName: 'gateway.pool.v1.AttemptOutcome',
      result: AttemptResult.SUCCEEDED,
      modelScoped: false,
      upstreamStatus,
      windows: quotas.map((window) => create(QuotaWindowSchema, window)),
      problem: AccountProblem.UNSPECIFIED,
      answerBegan: true,
    },
    sealedReasoning,
    amended,
    answerComplete: false,
  };
}

export interface FailedExecutionDetails extends FailureDetails, Pick<SuccessDetails, 'amended'> {
  /** The client's answer is whole all the same. */
  readonly answerComplete?: boolean;
}

/** How an attempt ended that has not. `error` as in `failedOutcome`. */
export function failedExecution(
  failure: UpstreamFailure,
  error: GatewayError,
  { amended, answerComplete = false, ...details }: FailedExecutionDetails,
): ExecuteOutcome {
  return create(ExecuteOutcomeSchema, { ...failedOutcome(failure, error, details), amended, answerComplete });
}
