import { AttemptResult, type Lease } from '@gateway/proto/pool/v1/account_pb.js';
import { AttemptGivenUp, type LoggedAttempt } from '@gateway/proto/usage/v1/request_log_pb.js';
import { failSpan, type Span, startSpan, withSpan } from '@gateway/telemetry';
import { attemptFailure, wordOf } from '../usage/describe-request.ts';

/** One attempt of a request as operators see it in traces: from its lease to its end. */
export class AttemptSpan {
  readonly #span: Span = startSpan('attempt');

  constructor({ pool, accountId }: Lease) {
    if (this.#span.isRecording()) this.#span.setAttributes({ 'gateway.pool': pool, 'gateway.account': accountId });
  }

  /** Runs `work` with the attempt as the parent of the spans that begin in it. */
  run<T>(work: () => T): T {
    return withSpan(this.#span, work);
  }

  end(attempt: LoggedAttempt): void {
    const { result, givenUp, upstreamStatus } = attempt;
    if (this.#span.isRecording()) {
      this.#span.setAttribute('gateway.attempt.result', wordOf(AttemptResult, result));
      if (upstreamStatus > 0) this.#span.setAttribute('gateway.attempt.upstream_status', upstreamStatus);
      const isGivenUp = givenUp !== AttemptGivenUp.UNSPECIFIED;
      if (isGivenUp) this.#span.setAttribute('gateway.attempt.given_up', wordOf(AttemptGivenUp, givenUp));
      const hasFailed = result !== AttemptResult.SUCCEEDED && givenUp !== AttemptGivenUp.CLIENT_LEFT;
      if (hasFailed) failSpan(this.#span, attemptFailure(attempt));
    }
    this.#span.end();
  }
}
