import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { type AcquireResponse, AcquireResponseSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { RequestEnd, RequestStory } from '../request-story.ts';
import { RequestTrace } from '../request-trace.ts';

/** The trace of a made-up request, on a clock that moves when it is told to. */
export class TracedRequest {
  readonly trace: RequestTrace;
  #nowMs = 1_000;

  constructor(requestId = 'r', receivedAtMs = 0) {
    this.trace = new RequestTrace({ requestId, endpoint: '/v1/messages', receivedAtMs }, () => this.#nowMs);
  }

  get story(): RequestStory {
    return this.trace.story;
  }

  wait(ms: number): this {
    this.#nowMs += ms;
    return this;
  }

  /** Authenticated, admitted and read. */
  read(model = 'gateway/sterk', tokenId = 't'): this {
    this.trace.onAuthenticated(tokenId);
    this.trace.onAdmitted();
    this.trace.onModel(model);
    return this;
  }

  /** The next account, after half a millisecond of the broker's. */
  lease(name: string): this {
    this.trace.onAsking();
    this.wait(0.5).trace.onAcquired(leased(name));
    return this;
  }

  /** The account answers, in whole. */
  answer(): this {
    this.trace.onAnswering();
    return this.fail(AttemptResult.SUCCEEDED, 200);
  }

  fail(result: AttemptResult, upstreamStatus = 0): this {
    this.trace.onAttemptEnded({ result, upstreamStatus });
    return this;
  }

  /** The broker has nothing (more). */
  exhaust(retryAtMs?: number): this {
    const retryAt = retryAtMs === undefined ? undefined : timestampFromMs(retryAtMs);
    const value = retryAt === undefined ? {} : { retryAt };
    this.trace.onAsking();
    this.trace.onAcquired(create(AcquireResponseSchema, { result: { case: 'exhausted', value } }));
    return this;
  }

  end(end: Partial<RequestEnd> = {}): this {
    this.trace.onEnded({ status: 200, errorCode: undefined, clientLeft: false, waitedForRoomMs: 0, ...end });
    return this;
  }
}

function leased(name: string): AcquireResponse {
  const value = { pool: 'pool', accountId: `pool/${name}`, model: 'gpt-5.5' };
  const skipped = [{ pool: 'pool', model: 'gpt-5.5', reason: 'cooling after 429', count: 3 }];
  return create(AcquireResponseSchema, { result: { case: 'lease', value }, reason: 'why', skipped });
}
