import { timestampMs } from '@bufbuild/protobuf/wkt';
import {
  type Attempt as AttemptMessage,
  AccountProblem as ProblemMessage,
  AttemptResult as ResultMessage,
} from '@gateway/proto/pool/v1/account_pb.js';
import type { Attempt, AttemptResult, FailureResult, ProblemKind } from '../accounts/attempt.ts';
import { fromWindowMessages } from './window-message.ts';

/** Undefined for an attempt without a lease, which can't be told of any account. */
export function fromAttemptMessage({ lease, outcome }: AttemptMessage): Attempt | undefined {
  if (lease === undefined || lease.leaseId === '') return undefined;
  return {
    leaseId: lease.leaseId,
    accountId: lease.accountId,
    pool: lease.pool,
    model: lease.model,
    outcome: {
      result: fromResultMessage(outcome?.result ?? ResultMessage.UNSPECIFIED),
      retryAtMs: outcome?.retryAt === undefined ? undefined : timestampMs(outcome.retryAt),
      modelScoped: outcome?.modelScoped ?? false,
      windows: fromWindowMessages(outcome?.windows ?? []),
      answerBegan: outcome?.answerBegan ?? false,
      problem: problems.get(outcome?.problem ?? ProblemMessage.UNSPECIFIED),
    },
  };
}

export function toResultMessage(reason: FailureResult): ResultMessage {
  return failures[reason];
}

/** An outcome that nobody gave, or that only a newer caller knows, says nothing of the account. */
function fromResultMessage(result: ResultMessage): AttemptResult {
  return results.get(result) ?? 'cancelled';
}

const failures: Readonly<Record<FailureResult, ResultMessage>> = {
  rate_limited: ResultMessage.RATE_LIMITED,
  unauthorized: ResultMessage.UNAUTHORIZED,
  overloaded: ResultMessage.OVERLOADED,
  server_error: ResultMessage.SERVER_ERROR,
  network_error: ResultMessage.NETWORK_ERROR,
  timeout: ResultMessage.TIMEOUT,
};

const problems: ReadonlyMap<ProblemMessage, ProblemKind> = new Map<ProblemMessage, ProblemKind>([
  [ProblemMessage.CREDENTIAL_REVOKED, 'credential_revoked'],
  [ProblemMessage.ACCOUNT_DISABLED, 'account_disabled'],
]);

const results: ReadonlyMap<ResultMessage, AttemptResult> = new Map<ResultMessage, AttemptResult>([
  [ResultMessage.SUCCEEDED, 'succeeded'],
  [ResultMessage.RATE_LIMITED, 'rate_limited'],
  [ResultMessage.UNAUTHORIZED, 'unauthorized'],
  [ResultMessage.OVERLOADED, 'overloaded'],
  [ResultMessage.SERVER_ERROR, 'server_error'],
  [ResultMessage.NETWORK_ERROR, 'network_error'],
  [ResultMessage.TIMEOUT, 'timeout'],
  [ResultMessage.REJECTED, 'rejected'],
  [ResultMessage.CANCELLED, 'cancelled'],
  // As after a rejected request: the account is fine, and no other would do better.
  [ResultMessage.ANSWER_TOO_LARGE, 'rejected'],
]);
