import { create } from '@bufbuild/protobuf';
import { TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { AttemptReportSchema, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { type AcquireResponse, AcquireResponseSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { admitCall, newCall } from '../../__fixtures__/test-call.ts';
import type { Call } from '../../call.ts';
import type { FinalResponse } from '../request-log.ts';

/** A made-up request, on a clock that only `wait` advances. */
export class LoggedRequest {
  readonly entry: Call;
  #nowMs = 1_000;

  constructor(id = 'r') {
    this.entry = newCall({ id, route: { path: '/v1/messages' }, readMonotonicMs: () => this.#nowMs });
  }

  get message(): RequestRecorded {
    return this.entry.record;
  }

  wait(ms: number): this {
    this.#nowMs += ms;
    return this;
  }

  /** Authenticated, admitted and read. */
  read(model = 'gateway/sterk', tokenId = 't'): this {
    this.entry.onAuthenticated(create(TokenSchema, { tokenId }));
    admitCall(this.entry);
    this.entry.onBodyRead(model, true, 0);
    return this;
  }

  /** The next account, after half a millisecond at the broker. */
  lease(name: string): this {
    this.entry.onAsking();
    this.wait(0.5).entry.onAcquired(leased(name));
    return this;
  }

  /** The account gives a whole answer. */
  answer(): this {
    this.entry.onAnswering();
    return this.fail(AttemptResult.SUCCEEDED, 200);
  }

  fail(result: AttemptResult, upstreamStatus = 0, cause = ''): this {
    this.entry.onAttemptEnded(create(AttemptReportSchema, { result, upstreamStatus, cause }));
    return this;
  }

  /** The broker has no account left. */
  exhaust(retryAtMs?: number): this {
    const value = retryAtMs === undefined ? {} : { retryAtMs };
    this.entry.onAsking();
    this.entry.onAcquired(create(AcquireResponseSchema, { result: { case: 'exhausted', value } }));
    return this;
  }

  end(end: Partial<FinalResponse> = {}): this {
    void this.entry.end({ status: 200, clientLeft: false, ...end });
    return this;
  }
}

function leased(name: string): AcquireResponse {
  const value = { pool: 'pool', accountId: `pool/${name}`, model: 'gpt-5.5' };
  const skipped = [{ pool: 'pool', model: 'gpt-5.5', reason: 'cooling after 429', count: 3 }];
  return create(AcquireResponseSchema, { result: { case: 'lease', value }, reason: 'why', skipped });
}
